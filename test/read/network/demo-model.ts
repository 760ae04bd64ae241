/**
 * Derives the effects of a demo month on the contracts of the network from the updates of its ledger. The model
 * contains each contract with its end, and each exercise with its ancestors.
 */
import type { Json, JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { CreatedEvent, ExercisedEvent, Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import { valueAt } from '../../../packages/ledger-sandbox/test/server/sockets.ts';

export interface ModelContract {
  readonly created: CreatedEvent;
  readonly payload: JsonObject;
  readonly transaction: Transaction;
  /** The archiving exercise. `within` contains its ancestors, innermost last. */
  ended?: {
    readonly by: ExercisedEvent;
    readonly within: readonly ExercisedEvent[];
    readonly transaction: Transaction;
  };
}

export interface ModelExercise {
  readonly exercise: ExercisedEvent;
  readonly transaction: Transaction;
}

/** Converts a Numeric or an integer to units of 10^-10. */
export function units(value: Json | undefined): bigint {
  const [integerPart = '0', fraction = ''] = (typeof value === 'string' ? value : '').split('.');
  return BigInt(integerPart + fraction.padEnd(10, '0'));
}

/** Formats units of 10^-10 with ten decimal digits. */
export function decimal(value: bigint): string {
  const digits = value.toString().padStart(11, '0');
  return `${digits.slice(0, -10)}.${digits.slice(-10)}`;
}

/** Product of two numbers in units of 10^-10 with the rounding of Daml: ten digits, half to even. */
function times(factor: bigint, otherFactor: bigint): bigint {
  const exact = factor * otherFactor;
  const [quotientDown, remainder] = [exact / 10n ** 10n, exact % 10n ** 10n];
  const halfUnit = 5n * 10n ** 9n;
  if (remainder > halfUnit) return quotientDown + 1n;
  return remainder === halfUnit && quotientDown % 2n === 1n ? quotientDown + 1n : quotientDown;
}

/** All contracts and exercises of splice-amulet. */
export class NetworkModel {
  readonly transactions: readonly Transaction[];
  readonly #made = new Map<string, ModelContract>();
  readonly #done: ModelExercise[] = [];

  constructor(ledger: Ledger) {
    this.transactions = ledger
      .range(0, ledger.ledgerEnd(), Infinity)
      .flatMap(({ update }) => (update !== undefined && 'Transaction' in update ? [update.Transaction.value] : []));
    for (const transaction of this.transactions) this.#read(transaction);
  }

  #read(transaction: Transaction): void {
    const exercises: ExercisedEvent[] = [];
    for (const event of transaction.events) {
      if ('CreatedEvent' in event) {
        const createdEvent = event.CreatedEvent;
        this.#made.set(createdEvent.contractId, {
          created: createdEvent,
          payload: createdEvent.createArgument,
          transaction,
        });
      } else if ('ExercisedEvent' in event) {
        const exercise = event.ExercisedEvent;
        const nestedExercises = exercises.filter(({ lastDescendantNodeId }) => lastDescendantNodeId >= exercise.nodeId);
        exercises.push(exercise);
        this.#done.push({ exercise, transaction });
        const endedContract = this.#made.get(exercise.contractId);
        if (exercise.consuming && endedContract !== undefined)
          endedContract.ended = { by: exercise, within: nestedExercises, transaction };
      }
    }
  }

  /** Contracts of a template of splice-amulet, by its name without the module. */
  made(entity: string): readonly ModelContract[] {
    return [...this.#made.values()].filter(
      ({ created }) => created.packageName === 'splice-amulet' && created.templateId.endsWith(`:${entity}`),
    );
  }

  /** Exercises of a choice, in the order of the ledger. */
  done(choice: string): readonly ModelExercise[] {
    return this.#done.filter(({ exercise }) => exercise.choice === choice);
  }
}

/** The text at a path in JSON. */
export function textOf(value: Json | undefined, ...path: string[]): string {
  return String(valueAt(value, ...path));
}

/** Field of the issuing round that contains the value of such a coupon. */
const issuanceOf = (entity: string, payload: ModelContract['payload']): string =>
  entity === 'AppRewardCoupon'
    ? `issuancePer${payload['featured'] === true ? 'F' : 'Unf'}eaturedAppRewardCoupon`
    : ({
        ValidatorRewardCoupon: 'issuancePerValidatorRewardCoupon',
        SvRewardCoupon: 'issuancePerSvRewardCoupon',
        ValidatorLivenessActivityRecord: 'optIssuancePerValidatorFaucetCoupon',
      }[entity] ?? '');

const kinds = {
  AppRewardCoupon: 'app',
  ValidatorRewardCoupon: 'validator',
  SvRewardCoupon: 'sv',
  ValidatorLivenessActivityRecord: 'liveness',
  RewardCouponV2: 'traffic',
  DevelopmentFundCoupon: 'development',
} as const;

/** Coupons whose amount is in Amulet. */
const isAmulet = (kind: string): boolean => kind === 'traffic' || kind === 'development';

function rewardsOf(kind: string, payload: ModelContract['payload']): string {
  if (kind !== 'traffic') return '';
  return payload['kind'] === 'RewardKind_Validator' ? 'validator' : 'app';
}

/** A purchase of traffic, by the choice of the amulet rules or by a transfer. */
export interface Purchase {
  readonly transaction: Transaction;
  readonly provider: string;
  readonly memberId: string;
  readonly bytes: string;
  readonly amulet: string;
  readonly usd: string;
  readonly byTransfer: boolean;
}

/** All purchases in ledger order, from arguments and results. The price in USD comes from the contract. */
export function purchases(model: NetworkModel): readonly Purchase[] {
  const prefix = 'splice.lfdecentralizedtrust.org';
  const usdOf = (transaction: Transaction): string => {
    const trafficContract = model.made('MemberTraffic').find((contract) => contract.transaction === transaction);
    return textOf(trafficContract?.payload, 'usdSpent');
  };
  const boughtByChoice = model.done('AmuletRules_BuyMemberTraffic').map(({ exercise, transaction }) => ({
    transaction,
    provider: textOf(exercise.choiceArgument, 'provider'),
    memberId: textOf(exercise.choiceArgument, 'memberId'),
    bytes: textOf(exercise.choiceArgument, 'trafficAmount'),
    amulet: textOf(exercise.exerciseResult, 'amuletPaid'),
    usd: usdOf(transaction),
    byTransfer: false,
  }));
  const isByTransfer = model
    .done('TransferFactory_Transfer')
    .filter(({ exercise }) => textOf(exercise.choiceArgument, 'transfer', 'receiver').startsWith('cip-'))
    .map(({ exercise, transaction }) => {
      const memo = new URLSearchParams(
        textOf(exercise.choiceArgument, 'transfer', 'meta', 'values', `${prefix}/reason`),
      );
      return {
        transaction,
        provider: textOf(exercise.choiceArgument, 'transfer', 'sender'),
        memberId: memo.get('memberId') ?? '',
        bytes: memo.get('trafficAmount') ?? '',
        amulet: textOf(exercise.exerciseResult, 'meta', 'values', `${prefix}/burned`),
        usd: usdOf(transaction),
        byTransfer: true,
      };
    });
  return [...boughtByChoice, ...isByTransfer].sort((a, b) => a.transaction.offset - b.transaction.offset);
}

export interface Coupon {
  readonly kind: string;
  /** The rewarded role if the coupon has kind traffic, 'app' or 'validator'; '' for other kinds. */
  readonly rewards: string;
  readonly party: string;
  readonly provider: string;
  readonly round: string;
  readonly worth: bigint | undefined;
  readonly status: string;
  readonly collector: string;
}

/** All coupons, derived from the ledger. */
export function coupons(model: NetworkModel): readonly Coupon[] {
  const issuing = new Map(
    model.made('IssuingMiningRound').map(({ payload }) => [textOf(payload, 'round', 'number'), payload]),
  );
  return Object.entries(kinds).flatMap(([entity, kind]) =>
    model.made(entity).map(({ payload, ended: archival }) => {
      const round = payload['round'] === undefined ? '' : textOf(payload, 'round', 'number');
      const rewards = rewardsOf(kind, payload);
      const issuance = issuing.get(round)?.[issuanceOf(entity, payload)];
      const count = units(payload['amount'] ?? payload['weight'] ?? '1');
      const owner =
        ['beneficiary', 'provider', 'user', 'validator', 'sv'].find((field) => (payload[field] ?? null) !== null) ?? '';
      const transfer = archival?.within.find(({ choice }) => choice === 'AmuletRules_Transfer');
      return {
        kind,
        rewards,
        party: textOf(payload, owner),
        provider: kind === 'app' || rewards === 'app' ? textOf(payload, 'provider') : '',
        round,
        worth: isAmulet(kind) ? count : issuance === undefined ? undefined : times(count, units(issuance)),
        status: archival === undefined ? 'active' : archival.by.choice.endsWith('_DsoExpire') ? 'expired' : 'collected',
        collector: transfer === undefined ? '' : textOf(transfer.choiceArgument, 'transfer', 'sender'),
      };
    }),
  );
}
