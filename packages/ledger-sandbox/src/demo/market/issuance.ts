/** Creation and end of holdings: mints, burns, coupons of the bond, Amulet dust and purchases of traffic. */
import { textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import type { CreatedEvent, Transaction } from '../../wire/wire.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { nameOf } from '../templates/funds.ts';
import { amountOf, drawDelayMicros } from './chance.ts';
import { mintDeposit, payOutDeposit } from './deposits.ts';
import type { MarketState, SubmissionOptions } from './market-state.ts';
import { amulet, bond, isDeposit, stableCoin } from '../templates/instruments.ts';
import type { Instrument } from '../templates/instruments.ts';
import { contextOf, reasonMeta } from '../templates/metadata.ts';
import { names } from '../templates/names.ts';
import { trafficCost, trafficMemo, trafficReceiver } from '../templates/traffic.ts';
import type { TrafficPurchase } from '../templates/traffic.ts';
import { otherParticipants } from './participant-id.ts';
import { executeWithin } from './payment.ts';

/** Median amount of a mint, in units of its instrument. */
const mintMedian = 900;
/** Amulets below this amount are dust, in units of 10^-10. */
const dustLimit = 20n * 10n ** 10n;
/** Minimum and maximum of the bytes of traffic that a member buys at a time. */
const trafficBytes = [8_000_000, 30_000_000] as const;
/** One purchase in this many is made by a transfer. */
const transferPurchaseInterval = 3n;
/** Number of traffic contracts of one member that are merged into one. */
const manyPurchases = 4;
/** Maximum number of inputs of one transfer of Amulet. */
const maxInputs = 100;

/** Creates a holding for a party. A request that is created and granted in one transaction is a transient contract. */
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

/** Ends a holding: a redemption of stable-coins or bonds, a payout of a deposit, or the end of Amulet dust. */
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
  const holding = wallets.of(owner, amulet).find((holdingId) => wallets.sum([holdingId]) < dustLimit);
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

/** A validator buys traffic; the Amulet paid is burnt. */
export function buyTraffic(state: MarketState, at: number): boolean {
  const { people, random, wallets, ledger } = state;
  const index = random.between(0, people.validators.length - 1);
  const provider = people.validators[index] ?? '';
  const bytes = BigInt(random.between(...trafficBytes));
  const isTransfer = bytes % transferPurchaseInterval === 0n;
  const cost = trafficCost(bytes, isTransfer ? state.configPrice() : state.roundPrice());
  const inputs = wallets.covering(provider, amulet, cost);
  if (inputs === undefined) return mint(state, amulet, provider, at, 4n * cost);
  const memberId = `PAR::${[ledger.participantId, ...otherParticipants][index] ?? ''}`;
  const newTraffic = { memberId, synchronizerId: ledger.synchronizers[0].id, migrationId: '0', bytes };
  if (isTransfer) transferTrafficFee(state, provider, inputs, newTraffic, { at });
  else buyByRules(state, provider, inputs, newTraffic, { at });
  // The merge is planned only at exactly this number, because more purchases may follow before it runs.
  if (state.traffic.get(memberId)?.length === manyPurchases)
    state.agenda.add(at + drawDelayMicros(random, 30), { what: 'merge-traffic', member: memberId });
  return true;
}

/** Buys traffic with a choice of the rules. */
export function buyByRules(
  state: MarketState,
  provider: string,
  inputs: readonly string[],
  { bytes, ...member }: TrafficPurchase,
  options: SubmissionOptions,
): Transaction {
  const argument = {
    inputs: inputs.map((value) => ({ tag: 'InputAmulet', value })),
    context: transferContext(state, provider),
    provider,
    ...member,
    trafficAmount: String(bytes),
    expectedDso: state.people.dso,
  };
  const rules = state.single(names.amuletRules);
  return state.exercise(provider, rules, 'AmuletRules_BuyMemberTraffic', argument, options);
}

/** Buys traffic with a transfer of the token standard whose memo names the member. */
export function transferTrafficFee(
  state: MarketState,
  sender: string,
  inputs: readonly string[],
  purchase: TrafficPurchase,
  options: SubmissionOptions,
): Transaction {
  const { at } = options;
  const { dso } = state.people;
  const transfer = {
    sender,
    receiver: trafficReceiver,
    amount: formatNumeric(trafficCost(purchase.bytes, state.configPrice())),
    instrumentId: { admin: dso, id: amulet.id },
    requestedAt: formatTimestamp(at),
    executeBefore: formatTimestamp(at + executeWithin),
    inputHoldingCids: [...inputs],
    meta: reasonMeta(trafficMemo(purchase)),
  };
  const extraArgs = contextOf({ 'external-party-config-state': state.single(names.externalPartyConfig) });
  const argument = { expectedAdmin: dso, transfer, extraArgs };
  return state.exercise(sender, state.single(amulet.factory), 'TransferFactory_Transfer', argument, options);
}

/** Merges the purchases of a member into one contract, so that their number does not grow. */
export function mergeTraffic(state: MarketState, member: string, at: number): boolean {
  const { dso } = state.people;
  const purchases = (state.traffic.get(member) ?? []).filter(
    ({ contractId }) => state.payload(contractId) !== undefined,
  );
  state.traffic.delete(member);
  if (purchases.length === 0) return false;
  const argument = { trafficCids: purchases.map(({ contractId }) => contractId) };
  const rules = state.single(names.amuletRules);
  state.exercise(dso, rules, 'AmuletRules_MergeMemberTrafficContracts', argument, { at, workflowId: 'traffic' });
  return true;
}

/** Rounds and rights for the context of a transfer. */
export function transferContext(state: MarketState, party: string): JsonObject {
  const right = state.single(names.validatorRight, party);
  return {
    openMiningRound: state.rounds.at(-1)?.contractId ?? '',
    issuingMiningRounds: state.issuing.map(({ number, contractId }) => [{ number: String(number) }, contractId]),
    validatorRights: right === '' ? [] : [[party, right]],
  };
}

/** Constructor names of the inputs of a transfer, by template. */
const inputTags: ReadonlyMap<string, string> = new Map([
  [names.appRewardCoupon, 'InputAppRewardCoupon'],
  [names.validatorRewardCoupon, 'InputValidatorRewardCoupon'],
  [names.svRewardCoupon, 'InputSvRewardCoupon'],
  [names.livenessRecord, 'InputValidatorLivenessActivityRecord'],
  [names.rewardCoupon, 'InputRewardCouponV2'],
  [names.developmentCoupon, 'InputDevelopmentFundCoupon'],
]);

/** Whether a coupon can be collected: its round is issuing or, if it is minted without a round, its time has come. */
function isDue(coupon: CreatedEvent, issuing: ReadonlySet<number>, at: number): boolean {
  const { createArgument: payload } = coupon;
  if (nameOf(coupon) === names.rewardCoupon) return Date.parse(textAt(payload, 'expiresAt')) * 1000 > at;
  if (nameOf(coupon) === names.developmentCoupon) return Date.parse(textAt(payload, 'mintAfter')) * 1000 <= at;
  return issuing.has(Number(textAt(payload, 'round', 'number')));
}

/** Merges all Amulets of a party, and the rewards of its coupons that can be collected, into one Amulet. */
export function collectRewards(state: MarketState, party: string, at: number): boolean {
  const { people, wallets } = state;
  const numbers = new Set(state.issuing.map(({ number }) => number));
  const activeCoupons = (state.coupons.get(party) ?? []).filter(
    ({ contractId }) => state.payload(contractId) !== undefined,
  );
  const dueCoupons = activeCoupons.filter((coupon) => isDue(coupon, numbers, at));
  const coupons = dueCoupons.slice(0, maxInputs);
  state.coupons.set(
    party,
    activeCoupons.filter((coupon) => !coupons.includes(coupon)),
  );
  if (coupons.length === 0) return false;
  const ownedHoldings = wallets.of(party, amulet).slice(0, maxInputs - coupons.length);
  const inputs = [
    ...coupons.map((coupon) => ({ tag: inputTags.get(nameOf(coupon)) ?? '', value: coupon.contractId })),
    ...ownedHoldings.map((value) => ({ tag: 'InputAmulet', value })),
  ];
  // The existing Amulets are merged. Minted Amulet is part of the change.
  const ownedSum = wallets.sum(ownedHoldings);
  const outputs =
    ownedSum === 0n ? [] : [{ receiver: party, receiverFeeRatio: formatNumeric(0n), amount: formatNumeric(ownedSum) }];
  const transfer = { sender: party, provider: party, inputs, outputs };
  const argument = { transfer, context: transferContext(state, party), expectedDso: people.dso };
  const rules = state.single(names.amuletRules);
  state.exercise(party, rules, 'AmuletRules_Transfer', argument, { at, workflowId: 'rewards' });
  return true;
}
