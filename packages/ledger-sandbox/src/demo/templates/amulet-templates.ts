/** What surrounds Amulet: its rules, mining rounds, reward coupons and the traffic that members buy. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asList, asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { ChoiceContext, Template } from '../../contracts/model.ts';
import { withoutTrailingNones } from '../../contracts/release-fields.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import { consume, payOut, positive } from './funds.ts';
import type { Output } from './funds.ts';
import { amuletPrice } from './holding-templates.ts';
import { amulet } from './instruments.ts';
import { kindMeta } from './metadata.ts';
import { names } from './names.ts';

const dso = (payload: JsonObject): string[] => [asText(payload['dso'])];
/** Amulet that one byte of traffic costs, in units of 10^-10. */
const unitsPerTrafficByte = 30_000n;

/** The round of a coupon or an Amulet. */
function roundOf(payload: JsonObject): number {
  return Number(textAt(payload, 'round', 'number') || amulet.read(payload).round);
}

function outputOf(given: Json): Output {
  const lock = asObject(asObject(given)?.['lock']);
  const output = { receiver: textAt(given, 'receiver'), amount: textAt(given, 'amount') };
  if (lock === undefined) return output;
  const holders = asList(lock['holders']).map((holder) => asText(holder));
  return { ...output, lock: { holders, expiresAt: asText(lock['expiresAt']), context: asText(lock['optContext']) } };
}

/** Archives Amulets and coupons; a coupon is worth its amount, which is minted here. */
function takeInputs(
  context: ChoiceContext,
  inputs: readonly Json[],
  sender: string,
): { sum: bigint; round: string; minted: bigint } {
  const of = (kind: (tag: string) => boolean): string[] =>
    inputs.filter((input) => kind(textAt(input, 'tag'))).map((input) => textAt(input, 'value'));
  const spent = consume(
    context,
    of((tag) => tag === 'InputAmulet'),
    sender,
  );
  let minted = 0n;
  let round = Number(spent.round);
  for (const coupon of of((tag) => tag !== 'InputAmulet')) {
    const { createArgument: payload, signatories } = context.fetch(coupon);
    if (payload['amount'] === undefined) throw assertionFailed('the input is no reward coupon');
    minted += parseNumeric(asText(payload['amount'])) ?? 0n;
    round = Math.max(round, roundOf(payload));
    context.exercise(coupon, 'Archive', {}, signatories);
  }
  return { sum: spent.sum + minted, minted, round: String(round) };
}

function transfer(context: ChoiceContext): Json {
  const given = asObject(context.argument['transfer']) ?? {};
  const sender = asText(given['sender']);
  const [admin = ''] = dso(context.contract.createArgument);
  const outputs = asList(given['outputs']).map(outputOf);
  const taken = takeInputs(context, asList(given['inputs']), sender);
  const { made, change } = payOut(context, amulet, { admin, sender, outputs }, taken);
  const tag = (index: number): string =>
    outputs[index]?.lock === undefined ? 'TransferResultAmulet' : 'TransferResultLockedAmulet';
  return {
    round: { number: taken.round },
    createdAmulets: made.map((value, index) => ({ tag: tag(index), value })),
    senderChangeAmulet: change ?? null,
    meta: kindMeta(taken.minted > 0n ? 'mint' : 'transfer', sender),
  };
}

function mint({ contract, argument, create, fetch }: ChoiceContext): Json {
  const [admin = ''] = dso(contract.createArgument);
  const round = textAt(fetch(asText(argument['openRound'])).createArgument, 'round', 'number');
  const amount = formatNumeric(positive(asText(argument['amount'])));
  const owner = asText(argument['receiver']);
  const made = create(amulet.holding, amulet.free({ admin, owner, amount, round }));
  return { amuletSum: { amulet: made, amuletPrice, round: { number: round } } };
}

function buyTraffic(context: ChoiceContext): Json {
  const { argument, contract, create } = context;
  const [admin = ''] = dso(contract.createArgument);
  const sender = asText(argument['provider']);
  const taken = takeInputs(context, asList(argument['inputs']), sender);
  const bought = BigInt(asText(argument['trafficAmount']));
  const cost = bought * unitsPerTrafficByte;
  if (taken.sum < cost) throw assertionFailed(`the traffic costs ${formatNumeric(cost)}`);
  const rest = taken.sum - cost;
  const outputs = rest > 0n ? [{ receiver: sender, amount: formatNumeric(rest) }] : [];
  const { made } = payOut(context, amulet, { admin, sender, outputs }, { ...taken, sum: rest });
  const { memberId, synchronizerId, migrationId } = argument;
  const purchasedTraffic = create(names.memberTraffic, {
    dso: admin,
    memberId: memberId ?? '',
    synchronizerId: synchronizerId ?? '',
    migrationId: migrationId ?? '0',
    totalPurchased: String(bought),
    numPurchases: '1',
    amuletSpent: formatNumeric(cost),
    usdSpent: formatNumeric((cost * positive(amuletPrice)) / 10n ** 10n),
  });
  const paid = { round: { number: taken.round }, amuletPaid: formatNumeric(cost), purchasedTraffic };
  return { ...paid, ...(made[0] === undefined ? {} : { senderChangeAmulet: made[0] }) };
}

/** A template of the DSO alone, without interfaces. */
function ofDso(name: string, choices: Template['choices'], more: Partial<Template> = {}): Template {
  return { name, signatories: dso, observers: () => [], interfaces: [], choices, ...more };
}

const rules = ofDso(names.amuletRules, {
  AmuletRules_Transfer: {
    consuming: false,
    controllers: (_, argument) => [textAt(argument, 'transfer', 'sender')],
    run: transfer,
  },
  AmuletRules_Mint: { consuming: false, controllers: dso, run: mint },
  AmuletRules_BuyMemberTraffic: {
    consuming: false,
    controllers: (_, argument) => [asText(argument['provider'])],
    run: buyTraffic,
  },
});

const appCoupon = ofDso(
  names.appRewardCoupon,
  {
    AppRewardCoupon_DsoExpire: {
      consuming: true,
      controllers: dso,
      run: ({ contract: { createArgument: payload } }) => ({
        featured: payload['featured'] ?? false,
        amount: payload['amount'] ?? '',
      }),
    },
  },
  {
    observers: (payload) => [asText(payload['provider'])],
    optionals: ['beneficiary'],
    normalise: (payload) => withoutTrailingNones(payload, ['beneficiary']),
  },
);

const validatorCoupon = ofDso(
  names.validatorRewardCoupon,
  {
    ValidatorRewardCoupon_DsoExpire: {
      consuming: true,
      controllers: dso,
      run: ({ contract: { createArgument: payload } }) => ({ amount: payload['amount'] ?? '' }),
    },
  },
  { observers: (payload) => [asText(payload['user'])] },
);

/** The templates around Amulet. */
export function amuletTemplates(): Template[] {
  return [
    rules,
    appCoupon,
    validatorCoupon,
    ofDso(names.openRound, {}),
    ofDso(names.closedRound, {}),
    ofDso(names.memberTraffic, {}),
  ];
}

/** Times are API timestamps. */
export interface NewRound {
  readonly dso: string;
  readonly number: number;
  readonly opensAt: string;
  readonly targetClosesAt: string;
}

const tick = { microseconds: '600000000' };

/** The payload of a round that opens. */
export function openRoundPayload({ dso: admin, number, opensAt, targetClosesAt }: NewRound): JsonObject {
  const fee = (text: string): JsonObject => ({ fee: text });
  return {
    dso: admin,
    round: { number: String(number) },
    amuletPrice,
    opensAt,
    targetClosesAt,
    issuingFor: tick,
    transferConfigUsd: {
      createFee: fee('0.0000000000'),
      holdingFee: { rate: '0.0000190259' },
      transferFee: { initialRate: '0.0000000000', steps: [{ _1: '100.0000000000', _2: '0.0000000000' }] },
      lockHolderFee: fee('0.0000000000'),
      extraFeaturedAppRewardAmount: '1.0000000000',
      maxNumInputs: '100',
      maxNumOutputs: '100',
      maxNumLockHolders: '50',
    },
    issuanceConfig: {
      amuletToIssuePerYear: '20000000000.0000000000',
      validatorRewardPercentage: '0.2000000000',
      appRewardPercentage: '0.6200000000',
      validatorRewardCap: '0.2000000000',
      featuredAppRewardCap: '1.5000000000',
      unfeaturedAppRewardCap: '0.6000000000',
      optValidatorFaucetCap: '2.8500000000',
    },
    tickDuration: tick,
  };
}

/** The payload of a round that has closed. */
export function closedRoundPayload(admin: string, number: number): JsonObject {
  return {
    dso: admin,
    round: { number: String(number) },
    issuancePerValidatorRewardCoupon: '0.2000000000',
    issuancePerFeaturedAppRewardCoupon: '1.5000000000',
    issuancePerUnfeaturedAppRewardCoupon: '0.6000000000',
    issuancePerSvRewardCoupon: '0.1500000000',
    optIssuancePerValidatorFaucetCoupon: '2.8500000000',
  };
}
