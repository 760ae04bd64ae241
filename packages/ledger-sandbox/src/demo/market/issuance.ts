/** Where holdings come from and where they end: mints, burns, coupons of the bond, dust, traffic. */
import type { Command } from '../../ledger/commands.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import { asText } from '../../wire/json.ts';
import { amountOf, patience } from './chance.ts';
import { mintDeposit, payOutDeposit } from './deposits.ts';
import type { MarketState } from './market-state.ts';
import { amulet, bond, isDeposit, stableCoin } from '../templates/instruments.ts';
import type { Instrument } from '../templates/instruments.ts';
import { names } from '../templates/names.ts';

/** Median of a mint, in whole units of its instrument. */
const mintMedian = 900;
/** Amulets below this many units of 10^-10 are dust. */
const dust = 20n * 10n ** 10n;
/** Bytes of traffic that a member buys at a time. */
const trafficBytes = [2_000_000, 9_000_000] as const;
const unitsPerByte = 30_000n;
/** Traffic contracts of one member that are merged into one. */
const manyPurchases = 10;
/** Inputs that one transfer of Amulet may have. */
const mostInputs = 100;

/** Gives a party a new holding. A request that is made and granted in one transaction is a transient contract. */
export function mint(state: MarketState, instrument: Instrument, owner: string, at: number, units?: bigint): boolean {
  const { people, random } = state;
  const amount = formatNumeric(units ?? amountOf(random, mintMedian));
  if (instrument === amulet) {
    const openRound = state.rounds.at(-1)?.contractId ?? '';
    const argument = { receiver: owner, amount, openRound };
    state.exercise(people.dso, state.single(names.amuletRules), 'AmuletRules_Mint', argument, { at });
    return true;
  }
  if (isDeposit(instrument)) return mintDeposit(state, instrument, { owner, amount }, at);
  const admin = people.adminOf(instrument.id);
  const coin = instrument === stableCoin;
  const argument = coin
    ? { admin, owner, amount, reason: random.chance(0.5) ? null : 'top-up', round: '0' }
    : { registrar: admin, owner, isin: bond.id, amount };
  const templateId = `#${coin ? names.mintRequest : names.issueRequest}`;
  const choice = { choice: coin ? 'Mint' : 'Issue', choiceArgument: {} };
  state.submit([admin], [{ kind: 'create-and-exercise', templateId, argument, ...choice }], { at });
  return true;
}

/** Ends a holding: a redemption of stable-coins or bonds, a deposit that is paid out, or an Amulet that is dust. */
export function burn(state: MarketState, at: number): boolean {
  const { people, random, wallets } = state;
  const owner = people.user(random);
  if (random.chance(0.4)) return expireDust(state, owner, at);
  if (random.chance(0.25)) return payOutDeposit(state, owner, at);
  const instrument = random.chance(0.8) ? stableCoin : bond;
  const [holding] = wallets.of(owner, instrument);
  if (holding === undefined) return false;
  if (instrument === stableCoin) state.exercise(owner, holding, 'Token_Burn', { reason: 'redemption' }, { at });
  else state.exercise(owner, holding, 'BondHolding_Redeem', {}, { at });
  return true;
}

function expireDust(state: MarketState, owner: string, at: number): boolean {
  const { wallets, people } = state;
  const holding = wallets.of(owner, amulet).find((one) => wallets.sum([one]) < dust);
  const roundCid = state.rounds.at(-1)?.contractId;
  if (holding === undefined || roundCid === undefined) return false;
  state.exercise(people.dso, holding, 'Amulet_Expire', { roundCid }, { at });
  return true;
}

/** The bond pays a coupon to one of its holders. */
export function payCoupon(state: MarketState, at: number): boolean {
  const { people, random, wallets } = state;
  const [holding] = wallets.of(people.user(random), bond);
  if (holding === undefined) return false;
  const argument = { period: new Date(at / 1000).toISOString().slice(0, 7), rate: '0.0094' };
  state.exercise(people.bondAgent, holding, 'BondHolding_PayCoupon', argument, { at });
  return true;
}

/** A validator buys traffic; the Amulet it pays is burnt. */
export function buyTraffic(state: MarketState, at: number): boolean {
  const { people, random, wallets, ledger } = state;
  const index = random.between(0, people.validators.length - 1);
  const provider = people.validators[index] ?? '';
  const bytes = BigInt(random.between(...trafficBytes));
  const inputs = wallets.covering(provider, amulet, bytes * unitsPerByte);
  if (inputs === undefined) return mint(state, amulet, provider, at, 4n * bytes * unitsPerByte);
  const argument = {
    inputs: inputs.map((value) => ({ tag: 'InputAmulet', value })),
    provider,
    memberId: `PAR::${provider}`,
    synchronizerId: ledger.synchronizers[0].id,
    migrationId: '0',
    trafficAmount: String(bytes),
  };
  state.exercise(provider, state.single(names.amuletRules), 'AmuletRules_BuyMemberTraffic', argument, { at });
  const { memberId: member } = argument;
  // Once: while it waits, more may come.
  if (state.traffic.get(member)?.length === manyPurchases)
    state.agenda.add(at + patience(random, 30), { what: 'merge-traffic', member });
  return true;
}

/** What a member bought becomes one contract: otherwise they would be more and more. */
export function mergeTraffic(state: MarketState, member: string, at: number): boolean {
  const { dso } = state.people;
  const bought = (state.traffic.get(member) ?? []).filter(({ contractId }) => state.payload(contractId) !== undefined);
  state.traffic.delete(member);
  const [newest] = bought.slice(-1);
  if (newest === undefined) return false;
  const numbers = (field: string): readonly string[] =>
    bought.map(({ createArgument }) => asText(createArgument[field]));
  const whole = (field: string): string => String(numbers(field).reduce((sum, text) => sum + BigInt(text), 0n));
  const numeric = (field: string): string =>
    formatNumeric(numbers(field).reduce((sum, text) => sum + (parseNumeric(text) ?? 0n), 0n));
  const argument = {
    ...newest.createArgument,
    totalPurchased: whole('totalPurchased'),
    numPurchases: whole('numPurchases'),
    amuletSpent: numeric('amuletSpent'),
    usdSpent: numeric('usdSpent'),
  };
  const archives = bought.map(({ contractId }): Command => {
    return { kind: 'exercise', contractId, choice: 'Archive', argument: {} };
  });
  const create: Command = { kind: 'create', templateId: `#${names.memberTraffic}`, argument };
  state.submit([dso], [...archives, create], { at, workflowId: 'traffic' });
  return true;
}

/** Turns every coupon of a party, and the many Amulets it may have, into one Amulet. */
export function collectRewards(state: MarketState, party: string, at: number): boolean {
  const coupons = (state.coupons.get(party) ?? []).filter(({ contractId }) => state.payload(contractId) !== undefined);
  state.coupons.delete(party);
  if (coupons.length === 0) return false;
  const owned = state.wallets.of(party, amulet).slice(0, mostInputs - coupons.length);
  const minted = coupons.reduce(
    (sum, { createArgument }) => sum + (parseNumeric(asText(createArgument['amount'])) ?? 0n),
    0n,
  );
  const tagOf = (template: string): string =>
    template.endsWith('AppRewardCoupon') ? 'InputAppRewardCoupon' : 'InputValidatorRewardCoupon';
  const inputs = [
    ...coupons.map(({ contractId, templateId }) => ({ tag: tagOf(templateId), value: contractId })),
    ...owned.map((value) => ({ tag: 'InputAmulet', value })),
  ];
  const amount = formatNumeric(minted + state.wallets.sum(owned));
  const outputs = [{ receiver: party, receiverFeeRatio: formatNumeric(0n), amount }];
  const transfer = { sender: party, provider: party, inputs, outputs };
  const rules = state.single(names.amuletRules);
  state.exercise(party, rules, 'AmuletRules_Transfer', { transfer }, { at, workflowId: 'rewards' });
  return true;
}
