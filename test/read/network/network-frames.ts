/** Events of the templates of the network, in the shapes that splice-amulet publishes, for tests that write frames. */
import * as frames from '../../support/frames.ts';
import type { Json, JsonRecord } from '../../support/frames.ts';

export const dso = 'DSO::1220d5';
/** Two versions of splice-amulet, and a package of a third party. */
export const olderPackageId = '0a'.repeat(32);
export const newerPackageId = '0b'.repeat(32);
export const foreign = '0c'.repeat(32);

interface EventOptions {
  readonly packageId?: string;
  readonly packageName?: string;
  readonly signatories?: readonly string[];
  readonly observers?: readonly string[];
  /** False if the contract is witnessed only, without being a stakeholder. */
  readonly acsDelta?: boolean;
}

/** A created contract. @param entity as `Module:Entity`, without the prefix `Splice.` */
export function made(
  contractId: string,
  entity: string,
  payload: JsonRecord,
  nodeId = 0,
  options: EventOptions = {},
): JsonRecord {
  const {
    packageId = newerPackageId,
    packageName = 'splice-amulet',
    signatories = [dso],
    observers = [],
    acsDelta = true,
  } = options;
  return {
    CreatedEvent: frames.created({
      contractId,
      nodeId,
      acsDelta,
      templateId: `${packageId}:Splice.${entity}`,
      packageName,
      createArgument: payload,
      interfaceViews: [],
      signatories: [...signatories],
      observers: [...observers],
      witnessParties: [...signatories, ...observers],
    }),
  };
}

interface ExerciseOptions extends EventOptions {
  readonly argument?: JsonRecord;
  readonly result?: Json;
  readonly consuming?: boolean;
  readonly by?: readonly string[];
  readonly nodeId?: number;
  readonly last?: number;
}

/** An exercised choice. */
export function exercisedEvent(
  contractId: string,
  entity: string,
  choice: string,
  options: ExerciseOptions = {},
): JsonRecord {
  const {
    packageId = newerPackageId,
    packageName = 'splice-amulet',
    argument = {},
    result = {},
    consuming = false,
  } = options;
  const { by: actingParties = [dso], nodeId = 0, last = nodeId } = options;
  return {
    ExercisedEvent: frames.exercised({
      contractId,
      nodeId,
      lastDescendantNodeId: last,
      templateId: `${packageId}:Splice.${entity}`,
      packageName,
      interfaceId: null,
      implementedInterfaces: [],
      choice,
      choiceArgument: argument,
      exerciseResult: result,
      consuming,
      acsDelta: consuming,
      actingParties: [...actingParties],
      witnessParties: [...actingParties],
    }),
  };
}

/** A contract that ends with the choice Archive. */
export function gone(contractId: string, entity: string, nodeId: number): JsonRecord {
  return exercisedEvent(contractId, entity, 'Archive', { consuming: true, nodeId });
}

/** The summary of a transfer without fees and rewards, with the given changes. */
export function summary(change: JsonRecord = {}): JsonRecord {
  return {
    inputAppRewardAmount: '0.0000000000',
    inputValidatorRewardAmount: '0.0000000000',
    inputSvRewardAmount: '0.0000000000',
    inputAmuletAmount: '0.0000000000',
    balanceChanges: [],
    holdingFees: '0.0000000000',
    outputFees: [],
    senderChangeFee: '0.0000000000',
    senderChangeAmount: '0.0000000000',
    amuletPrice: '0.1000000000',
    inputValidatorFaucetAmount: '0.0000000000',
    inputUnclaimedActivityRecordAmount: '0.0000000000',
    inputDevelopmentFundAmount: '0.0000000000',
    ...change,
  };
}
