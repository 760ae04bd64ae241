/** Mining rounds. They open, summarize, issue rewards and close, each by a choice of the rules of Amulet. */
import { asList, asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { ChoiceContext, Template } from '../../contracts/model.ts';
import { formatNumeric, formatTimestamp, parseNumeric } from '../../wire/values.ts';
import { names } from './names.ts';

/** Length of half a round, in microseconds. */
const tickMicros = 600_000_000;
const tick = { microseconds: String(tickMicros) };
/** Price of a million bytes of traffic in USD. */
const trafficPrice = '0.0150000000';
/** Value of a marker of weight 1 in USD, in units of 10^-10. */
const markerUsd = 10_000_000_000n;
const oneUnit = 10n ** 10n;

export const dso = (payload: JsonObject): string[] => [asText(payload['dso'])];

/** A template without interfaces that only the DSO signs. */
export function dsoTemplate(name: string, choices: Template['choices'], overrides: Partial<Template> = {}): Template {
  return { name, signatories: dso, observers: () => [], interfaces: [], choices, ...overrides };
}

/** A quotient of two positive integers, rounded as in Daml: halves to the even neighbor. */
export function rounded(dividend: bigint, divisor: bigint): bigint {
  const integer = dividend / divisor;
  const doubledRemainder = (dividend % divisor) * 2n;
  const roundsUp = doubledRemainder > divisor || (doubledRemainder === divisor && integer % 2n === 1n);
  return roundsUp ? integer + 1n : integer;
}

/** The product of two numbers in units of 10^-10. */
export function product(a: bigint, b: bigint): bigint {
  return rounded(a * b, oneUnit);
}

/** A round to be opened. Times are API timestamps. */
export interface NewRound {
  readonly dso: string;
  readonly number: number;
  readonly amuletPrice: string;
  readonly opensAt: string;
  readonly targetClosesAt: string;
}

/** The payload of a round that opens. */
export function openRoundPayload(round: NewRound): JsonObject {
  const { dso: admin, number, amuletPrice, opensAt, targetClosesAt } = round;
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
    trafficPrice,
  };
}

/** Issuance of a round per coupon: near the caps, with small variations. */
function issuedCoupon(number: number): JsonObject {
  const randomBelow = (cap: bigint, spread: number): string =>
    formatNumeric(cap - BigInt((number * 7_919_777) % (spread * 1_000_000_000)));
  return {
    issuancePerValidatorRewardCoupon: randomBelow(2_000_000_000n, 1),
    issuancePerFeaturedAppRewardCoupon: randomBelow(15_000_000_000n, 5),
    issuancePerUnfeaturedAppRewardCoupon: randomBelow(6_000_000_000n, 3),
    issuancePerSvRewardCoupon: randomBelow(1_500_000_000n, 1),
    optIssuancePerValidatorFaucetCoupon: randomBelow(28_500_000_000n, 9),
  };
}

const numberOf = (payload: JsonObject): number => Number(textAt(payload, 'round', 'number'));

/** Fetches the contract of the DSO that a choice names, and archives it. */
function consumedPayload(context: ChoiceContext, cid: string): JsonObject {
  const { createArgument, signatories } = context.fetch(cid);
  context.exercise(cid, 'Archive', {}, signatories);
  return createArgument;
}

function advance(context: ChoiceContext): Json {
  const { argument, contract, create, fetch, time } = context;
  const [admin = ''] = dso(contract.createArgument);
  const {
    round = null,
    issuanceConfig = null,
    tickDuration = null,
    ...roundFields
  } = consumedPayload(context, asText(argument['roundToArchiveCid']));
  const summarizingRoundCid = create(names.summarizingRound, {
    dso: admin,
    round,
    amuletPrice: roundFields['amuletPrice'] ?? '',
    issuanceConfig,
    tickDuration,
    trafficPrice: roundFields['trafficPrice'] ?? null,
  });
  const opensAt = Date.parse(time) * 1000;
  const newestRound = numberOf(fetch(asText(argument['latestRoundCid'])).createArgument);
  const next = {
    dso: admin,
    number: newestRound + 1,
    amuletPrice: asText(argument['amuletPrice']),
    opensAt: time,
    targetClosesAt: formatTimestamp(opensAt + 2 * tickMicros),
  };
  return { summarizingRoundCid, openRoundCid: create(names.openRound, openRoundPayload(next)) };
}

function startIssuing(context: ChoiceContext): Json {
  const { argument, create, time } = context;
  const round = consumedPayload(context, asText(argument['miningRoundCid']));
  const { optIssuancePerValidatorFaucetCoupon = null, ...issuance } = issuedCoupon(numberOf(round));
  const closesAt = formatTimestamp(Date.parse(time) * 1000 + 2 * tickMicros);
  const issuing = {
    dso: round['dso'] ?? '',
    round: round['round'] ?? null,
    ...issuance,
    opensAt: time,
    targetClosesAt: closesAt,
  };
  return { issuingRoundCid: create(names.issuingRound, { ...issuing, optIssuancePerValidatorFaucetCoupon }) };
}

function close(context: ChoiceContext): Json {
  const {
    opensAt: _,
    targetClosesAt: __,
    ...round
  } = consumedPayload(context, asText(context.argument['issuingRoundCid']));
  return { closedRoundCid: context.create(names.closedRound, round) };
}

/** Converts uncollected coupons of a closed round to an unclaimed reward. */
function claimExpired(context: ChoiceContext): Json {
  const { argument, contract, create, exercise, fetch } = context;
  const closedRoundCid = asText(argument['closedRoundCid']);
  const round = fetch(closedRoundCid).createArgument;
  const [admin = ''] = dso(contract.createArgument);
  const unit = (field: string): bigint => parseNumeric(asText(round[field])) ?? 0n;
  const expire = (field: string, choice: string, rewardOf: (result: JsonObject) => bigint): bigint =>
    asList(argument[field])
      .map((cid) => rewardOf(asObject(exercise(asText(cid), choice, { closedRoundCid }, [admin])) ?? {}))
      .reduce((sum, amount) => sum + amount, 0n);
  const amountOf = (result: JsonObject): bigint => parseNumeric(asText(result['amount'])) ?? 0n;
  const appRewards = (result: JsonObject): bigint =>
    product(amountOf(result), unit(`issuancePer${result['featured'] === true ? 'F' : 'Unf'}eaturedAppRewardCoupon`));
  const unclaimedRewards =
    expire('validatorRewardCouponCids', 'ValidatorRewardCoupon_DsoExpire', (result) =>
      product(amountOf(result), unit('issuancePerValidatorRewardCoupon')),
    ) +
    expire('appCouponCids', 'AppRewardCoupon_DsoExpire', appRewards) +
    expire('svRewardCouponCids', 'SvRewardCoupon_DsoExpire', (result) =>
      product(parseNumeric(asText(result['weight'])) ?? 0n, unit('issuancePerSvRewardCoupon')),
    ) +
    expire('optValidatorLivenessActivityRecordCids', 'ValidatorLivenessActivityRecord_DsoExpire', () =>
      unit('optIssuancePerValidatorFaucetCoupon'),
    );
  const reward = { dso: admin, amount: formatNumeric(unclaimedRewards) };
  return { unclaimedRewardCid: unclaimedRewards > 0n ? create(names.unclaimedReward, reward) : null };
}

/** Converts markers to coupons: one for each provider and beneficiary. */
function convertMarkers(context: ChoiceContext): Json {
  const { argument, contract, create, fetch } = context;
  const [admin = ''] = dso(contract.createArgument);
  const round = fetch(asText(argument['openMiningRoundCid'])).createArgument;
  const weights = new Map<string, { provider: string; beneficiary: string; weight: bigint }>();
  for (const cid of asList(argument['markerCids'])) {
    const marker = consumedPayload(context, asText(cid));
    const [provider, beneficiary] = [asText(marker['provider']), asText(marker['beneficiary'])];
    const key = `${provider} ${beneficiary}`;
    const weight = (weights.get(key)?.weight ?? 0n) + (parseNumeric(asText(marker['weight'])) ?? 0n);
    weights.set(key, { provider, beneficiary, weight });
  }
  const perWeight = (markerUsd * oneUnit) / (parseNumeric(asText(round['amuletPrice'])) ?? oneUnit);
  const appRewardCouponCids = [...weights.values()].map(({ provider, beneficiary, weight }) =>
    create(names.appRewardCoupon, {
      dso: admin,
      provider,
      featured: true,
      amount: formatNumeric(product(perWeight, weight)),
      round: round['round'] ?? null,
      beneficiary,
    }),
  );
  return { appRewardCouponCids };
}

/** Merges the purchases of a member into one contract. */
function mergeTraffic(context: ChoiceContext): Json {
  const purchases = asList(context.argument['trafficCids']).map((cid) => consumedPayload(context, asText(cid)));
  const texts = (field: string): readonly string[] => purchases.map((traffic) => asText(traffic[field]));
  const integer = (field: string): string => String(texts(field).reduce((sum, text) => sum + BigInt(text), 0n));
  const numeric = (field: string): string =>
    formatNumeric(texts(field).reduce((sum, text) => sum + (parseNumeric(text) ?? 0n), 0n));
  const mergedTrafficCid = context.create(names.memberTraffic, {
    ...purchases[0],
    totalPurchased: integer('totalPurchased'),
    numPurchases: integer('numPurchases'),
    amuletSpent: numeric('amuletSpent'),
    usdSpent: numeric('usdSpent'),
  });
  return { mergedTrafficCid };
}

const dsoChoice = (run: (context: ChoiceContext) => Json): Template['choices'][string] => ({
  consuming: false,
  controllers: dso,
  run,
});

/** Choices of the rules of Amulet that only the DSO may exercise. */
export const roundChoices: Template['choices'] = {
  AmuletRules_AdvanceOpenMiningRounds: dsoChoice(advance),
  AmuletRules_MiningRound_StartIssuing: dsoChoice(startIssuing),
  AmuletRules_MiningRound_Close: dsoChoice(close),
  AmuletRules_MiningRound_Archive: dsoChoice((context) => {
    consumedPayload(context, asText(context.argument['closedRoundCid']));
    return {};
  }),
  AmuletRules_ClaimExpiredRewards: dsoChoice(claimExpired),
  AmuletRules_ConvertFeaturedAppActivityMarkers: dsoChoice(convertMarkers),
  AmuletRules_MergeMemberTrafficContracts: dsoChoice(mergeTraffic),
};

/** The templates of rounds, in the order of their phases. */
export function roundTemplates(): Template[] {
  return [names.openRound, names.summarizingRound, names.issuingRound, names.closedRound].map((name) =>
    dsoTemplate(name, {}),
  );
}
