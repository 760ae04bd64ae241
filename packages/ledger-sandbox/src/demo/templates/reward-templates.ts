/** Coupons for rewards, licenses of validators, rights of featured apps, and the value of collected coupons. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asList, asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { entityOf } from '../../contracts/model.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { withoutTrailingNones } from '../../contracts/release-fields.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import { featuredAppInterfaces, names } from './names.ts';
import { requireMintable } from './reward-accounting.ts';
import { dso, dsoTemplate, product } from './round-templates.ts';

/** Units of 10^-10 by kind of reward. Rewards for being active count as those of validators. */
export interface Rewards {
  readonly app: bigint;
  readonly validator: bigint;
  readonly sv: bigint;
  readonly liveness: bigint;
  /** Coupons of the development fund. */
  readonly development: bigint;
}

export const zeroRewards: Rewards = { app: 0n, validator: 0n, sv: 0n, liveness: 0n, development: 0n };

export function addRewards(rewards: Rewards, otherRewards: Partial<Rewards>): Rewards {
  return {
    app: rewards.app + (otherRewards.app ?? 0n),
    validator: rewards.validator + (otherRewards.validator ?? 0n),
    sv: rewards.sv + (otherRewards.sv ?? 0n),
    liveness: rewards.liveness + (otherRewards.liveness ?? 0n),
    development: rewards.development + (otherRewards.development ?? 0n),
  };
}

/** Rounds and rights in the context of a transfer. */
export interface Issuances {
  /** Number of the open round. */
  readonly openRound: number;
  /** Payloads of issuing rounds, by number. */
  readonly rounds: ReadonlyMap<string, JsonObject>;
  /** Contract ids of rights, by user. */
  readonly rights: ReadonlyMap<string, string>;
}

/** Reads the transfer context of a choice. */
export function issuances({ fetch }: ChoiceContext, value: Json | undefined): Issuances {
  const context = asObject(value);
  const pairs = (field: string): readonly (readonly Json[])[] => asList(context?.[field]).map((pair) => asList(pair));
  const openRoundCid = asText(context?.['openMiningRound']);
  return {
    openRound: openRoundCid === '' ? 0 : Number(textAt(fetch(openRoundCid).createArgument, 'round', 'number')),
    rounds: new Map(
      pairs('issuingMiningRounds').map(([round, cid]) => [textAt(round, 'number'), fetch(asText(cid)).createArgument]),
    ),
    rights: new Map(pairs('validatorRights').map(([user, cid]) => [asText(user), asText(cid)])),
  };
}

/** Archives a coupon and returns its value. Refuses a coupon whose round is not issuing. */
export function collect(
  context: ChoiceContext,
  coupon: string,
  sender: string,
  { rounds, rights }: Issuances,
): Partial<Rewards> {
  const { createArgument: payload, signatories, templateId } = context.fetch(coupon);
  const entity = entityOf(templateId).replace(/^.*:/, '');
  if (entity === 'RewardCouponV2' || entity === 'DevelopmentFundCoupon') {
    requireMintable(context, payload);
    context.exercise(coupon, 'Archive', {}, signatories);
    const amulets = parseNumeric(asText(payload['amount'])) ?? 0n;
    // The summary of a transfer counts the coupon as a reward of apps, whatever its recipient.
    return entity === 'RewardCouponV2' ? { app: amulets } : { development: amulets };
  }
  const issuing = rounds.get(textAt(payload, 'round', 'number'));
  if (issuing === undefined) throw assertionFailed('the round of the coupon is not issuing');
  const rewardOf = (count: string, issuance: string): bigint =>
    product(parseNumeric(count) ?? 0n, parseNumeric(asText(issuing[issuance])) ?? 0n);
  const amount = asText(payload['amount']);
  switch (entity) {
    case 'AppRewardCoupon':
      context.exercise(coupon, 'Archive', {}, signatories);
      return {
        app: rewardOf(amount, `issuancePer${payload['featured'] === true ? 'F' : 'Unf'}eaturedAppRewardCoupon`),
      };
    case 'ValidatorRewardCoupon': {
      const rightCid = rights.get(asText(payload['user'])) ?? '';
      const actors = [...signatories, sender];
      context.exercise(coupon, 'ValidatorRewardCoupon_ArchiveAsValidator', { validator: sender, rightCid }, actors);
      return { validator: rewardOf(amount, 'issuancePerValidatorRewardCoupon') };
    }
    case 'SvRewardCoupon':
      context.exercise(coupon, 'SvRewardCoupon_ArchiveAsBeneficiary', {}, [sender]);
      return { sv: rewardOf(asText(payload['weight']), 'issuancePerSvRewardCoupon') };
    case 'ValidatorLivenessActivityRecord': {
      context.exercise(coupon, 'Archive', {}, signatories);
      const liveness = rewardOf('1', 'optIssuancePerValidatorFaucetCoupon');
      return { validator: liveness, liveness };
    }
    default:
      throw assertionFailed('the input is not a reward coupon');
  }
}

/** The choice of the DSO that lets a coupon expire. */
function expiry(result: (payload: JsonObject) => Json): Choice {
  return { consuming: true, controllers: dso, run: ({ contract }) => result(contract.createArgument) };
}

const observer = (field: string) => (payload: JsonObject) => [asText(payload[field])];

function coupons(): Template[] {
  return [
    dsoTemplate(
      names.appRewardCoupon,
      {
        AppRewardCoupon_DsoExpire: expiry((payload) => ({
          featured: payload['featured'] ?? false,
          amount: payload['amount'] ?? '',
        })),
      },
      {
        observers: (payload) => [
          ...new Set([asText(payload['provider']), asText(payload['beneficiary'] ?? payload['provider'])]),
        ],
        optionals: ['beneficiary'],
        normalize: (payload) => withoutTrailingNones(payload, ['beneficiary']),
      },
    ),
    dsoTemplate(
      names.validatorRewardCoupon,
      {
        ValidatorRewardCoupon_DsoExpire: expiry((payload) => ({ amount: payload['amount'] ?? '' })),
        ValidatorRewardCoupon_ArchiveAsValidator: {
          consuming: true,
          controllers: (payload, argument) => [...dso(payload), asText(argument['validator'])],
          run: () => ({}),
        },
      },
      { observers: observer('user') },
    ),
    dsoTemplate(
      names.svRewardCoupon,
      {
        SvRewardCoupon_DsoExpire: expiry((payload) => ({ weight: payload['weight'] ?? '' })),
        SvRewardCoupon_ArchiveAsBeneficiary: {
          consuming: true,
          controllers: observer('beneficiary'),
          run: () => ({}),
        },
      },
      { observers: (payload) => [...new Set([asText(payload['sv']), asText(payload['beneficiary'])])] },
    ),
    dsoTemplate(
      names.livenessRecord,
      { ValidatorLivenessActivityRecord_DsoExpire: expiry(() => ({})) },
      { observers: observer('validator') },
    ),
  ];
}

/** Replaces the license by one whose last activity is the time of the choice. */
function renewState({ contract, create, time }: ChoiceContext, change: JsonObject = {}): string {
  const { validator = '', dso: admin = '', faucetState = null, metadata = null } = contract.createArgument;
  const license = { validator, sponsor: validator, dso: admin, faucetState, metadata, lastActiveAt: time, ...change };
  return create(names.validatorLicense, license);
}

function recordLiveness(context: ChoiceContext): Json {
  const { contract, argument, create, fetch } = context;
  const { createArgument: payload } = contract;
  const round = Number(textAt(fetch(asText(argument['openRoundCid'])).createArgument, 'round', 'number'));
  const previousState = asObject(payload['faucetState']);
  const last = previousState === undefined ? round - 1 : Number(textAt(previousState, 'lastReceivedFor', 'number'));
  if (last >= round) throw assertionFailed('the validator has already recorded its activity for this round');
  const faucetState = {
    firstReceivedFor: previousState?.['firstReceivedFor'] ?? { number: String(round) },
    lastReceivedFor: { number: String(round) },
    numCouponsMissed: String(Number(previousState?.['numCouponsMissed'] ?? 0) + round - last - 1),
  };
  const licenseCid = renewState(context, { faucetState });
  const record = { dso: payload['dso'] ?? '', validator: payload['validator'] ?? '', round: { number: String(round) } };
  return { licenseCid, couponCid: create(names.livenessRecord, record) };
}

const license = dsoTemplate(
  names.validatorLicense,
  {
    ValidatorLicense_RecordValidatorLivenessActivity: {
      consuming: true,
      controllers: observer('validator'),
      run: recordLiveness,
    },
    ValidatorLicense_ReportActive: {
      consuming: true,
      controllers: observer('validator'),
      run: (context) => ({ licenseCid: renewState(context) }),
    },
    ValidatorLicense_UpdateMetadata: {
      consuming: true,
      controllers: observer('validator'),
      run: (context) => {
        const { version = '', contactPoint = '' } = context.argument;
        return {
          licenseCid: renewState(context, { metadata: { lastUpdatedAt: context.time, version, contactPoint } }),
        };
      },
    },
  },
  {
    observers: observer('validator'),
    optionals: ['faucetState', 'metadata', 'lastActiveAt'],
    normalize: (payload) => withoutTrailingNones(payload, ['faucetState', 'metadata', 'lastActiveAt']),
  },
);

function markActivity({ contract, argument, create }: ChoiceContext): Json {
  const { dso: admin = '', provider = '' } = contract.createArgument;
  const activityMarkerCids = asList(argument['beneficiaries']).map((beneficiary) =>
    create(names.activityMarker, {
      dso: admin,
      provider,
      beneficiary: textAt(beneficiary, 'beneficiary'),
      weight: formatNumeric(parseNumeric(textAt(beneficiary, 'weight')) ?? 0n),
    }),
  );
  return { activityMarkerCids };
}

function featuredTemplates(): Template[] {
  const viewOfFields =
    (...fields: readonly string[]) =>
    (payload: JsonObject): JsonObject =>
      Object.fromEntries(fields.map((field) => [field, payload[field] ?? '']));
  return [
    dsoTemplate(
      names.featuredAppRight,
      {
        FeaturedAppRight_CreateActivityMarker: {
          consuming: false,
          interface: featuredAppInterfaces.right,
          controllers: observer('provider'),
          run: markActivity,
        },
      },
      {
        observers: observer('provider'),
        interfaces: [{ name: featuredAppInterfaces.right, view: viewOfFields('dso', 'provider') }],
        optionals: ['activityWeight'],
        normalize: (payload) => withoutTrailingNones(payload, ['activityWeight']),
      },
    ),
    dsoTemplate(
      names.activityMarker,
      {},
      {
        observers: (payload) => [...new Set([asText(payload['provider']), asText(payload['beneficiary'])])],
        interfaces: [
          {
            name: featuredAppInterfaces.activityMarker,
            view: viewOfFields('dso', 'provider', 'beneficiary', 'weight'),
          },
        ],
      },
    ),
  ];
}

const right: Template = {
  name: names.validatorRight,
  signatories: (payload) => [...new Set([asText(payload['user']), asText(payload['validator'])])],
  observers: () => [],
  interfaces: [],
  choices: {},
};

/** The templates of rewards. */
export function rewardTemplates(): Template[] {
  return [...coupons(), license, right, ...featuredTemplates(), dsoTemplate(names.unclaimedReward, {})];
}
