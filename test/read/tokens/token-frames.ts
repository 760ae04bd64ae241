/**
 * Frames of the token standard in both versions, in the shapes of the published packages. The recordings have some of
 * them.
 */
import * as frames from '../../support/frames.ts';

const packageId = 'cd'.repeat(32);
const interfaceName = (name: string): string => `${packageId}:Splice.Api.Token.${name}`;
const emptyMetadata = { values: {} };
const reasonKey = 'splice.lfdecentralizedtrust.org/reason';

export type Account = {
  /** Owner; null for an account of the instrument's admin. */
  readonly owner: string | null;
  readonly provider: string | null;
  readonly id: string;
};

export type Instrument = { readonly admin: string; readonly id: string };

export interface Holding {
  readonly contractId: string;
  readonly account: Account;
  readonly instrument: Instrument;
  readonly amount: string;
  readonly lock?: frames.JsonRecord | null;
  /** Versions of the standard that the holding's template implements. */
  readonly versions?: readonly (1 | 2)[];
  /** Versions of the standard whose view the participant could not compute. */
  readonly failed?: readonly (1 | 2)[];
  /** Amount in the view of version 1, if it differs. */
  readonly amountV1?: string;
  /** Additional fields of the created event. */
  readonly event?: frames.JsonRecord;
}

export const own = (owner: string): Account => ({ owner, provider: null, id: '' });

/** The created event of a holding, signed by the admin and the owner. */
export function holding(options: Holding): frames.JsonRecord {
  const {
    contractId,
    account,
    instrument,
    amount,
    lock = null,
    versions = [1, 2],
    failed: failedVersions = [],
    event,
  } = options;
  const { owner } = account;
  const view = (version: 1 | 2, viewValue: frames.JsonRecord): frames.JsonRecord => ({
    interfaceId: interfaceName(`HoldingV${String(version)}:Holding`),
    viewStatus: failedVersions.includes(version)
      ? { code: 9, message: 'the view failed', details: [] }
      : { code: 0, message: '', details: [] },
    viewValue: failedVersions.includes(version) ? null : viewValue,
  });
  const commonFields = { instrumentId: instrument, lock, meta: emptyMetadata };
  const views = [
    view(1, { owner, amount: options.amountV1 ?? amount, ...commonFields }),
    view(2, { account, amount, ...commonFields }),
  ].filter((_, index) => versions.includes(index === 0 ? 1 : 2));
  const signatories = owner === null ? [instrument.admin] : [instrument.admin, owner];
  return frames.created({
    contractId,
    interfaceViews: views,
    signatories,
    observers: [],
    witnessParties: signatories,
    ...event,
  });
}

/** A created holding. */
export function held(options: Holding, nodeId: number): frames.JsonRecord {
  return { CreatedEvent: { ...holding(options), nodeId } };
}

/** An archived holding. */
export function gone(contractId: string, nodeId: number, change: frames.JsonRecord = {}): frames.JsonRecord {
  const archiveChoice = { interfaceId: null, choice: 'Archive', choiceArgument: {}, exerciseResult: {} };
  const event = {
    contractId,
    nodeId,
    lastDescendantNodeId: nodeId,
    implementedInterfaces: [],
    ...archiveChoice,
    ...change,
  };
  return { ExercisedEvent: frames.exercised(event) };
}

export interface Leg {
  readonly side: 'SenderSide' | 'ReceiverSide';
  readonly other: Account;
  readonly amount: string;
  readonly leg?: string;
  readonly reason?: string;
}

export interface LoggedChange {
  readonly account: Account;
  readonly instrument: Instrument;
  readonly legs: readonly Leg[];
  /** The acting party; the admin by default. */
  readonly by?: string;
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly witnesses?: readonly string[];
}

/** The event by which the registry logs transfer legs of an account. */
export function logged({ account, instrument, legs, ...options }: LoggedChange, nodeId: number): frames.JsonRecord {
  const { owner } = account;
  const event = {
    contractId: '00rules',
    nodeId,
    lastDescendantNodeId: nodeId,
    consuming: false,
    interfaceId: interfaceName('TransferEventsV2:EventLog'),
    choice: 'EventLog_HoldingsChange',
    actingParties: [options.by ?? instrument.admin],
    choiceArgument: {
      admin: instrument.admin,
      account,
      inputHoldingCids: [...(options.inputs ?? [])],
      outputHoldingCids: [...(options.outputs ?? [])],
      transferLegSides: legs.map(({ side, other: counterparty, amount, leg = '', reason }) => ({
        transferLegId: leg,
        side,
        otherside: counterparty,
        amount,
        instrumentId: instrument.id,
        meta: { values: reason === undefined ? {} : { [reasonKey]: reason } },
      })),
      observers: owner === null ? [] : [owner],
      extraArgs: { context: emptyMetadata, meta: emptyMetadata },
    },
    exerciseResult: {},
    witnessParties: [...(options.witnesses ?? (owner === null ? [instrument.admin] : [owner]))],
  };
  return { ExercisedEvent: frames.exercised(event) };
}

export interface Step {
  readonly version: 1 | 2;
  readonly sender: string;
  readonly receiver: string;
  readonly instrument: Instrument;
  readonly amount: string;
  /** Node id of the last descendant of the exercise; by default, of the exercise itself. */
  readonly lastDescendantNodeId?: number;
}

/** A transfer in one step by a transfer factory. */
export function transferred({ version, instrument, amount, ...step }: Step, nodeId: number): frames.JsonRecord {
  const account = (owner: string): frames.Json => (version === 1 ? owner : own(owner));
  const transfer = {
    sender: account(step.sender),
    receiver: account(step.receiver),
    amount,
    instrumentId: instrument,
    requestedAt: '2026-08-01T00:00:00Z',
    executeBefore: '2026-08-02T00:00:00Z',
    inputHoldingCids: [],
    meta: emptyMetadata,
  };
  const event = {
    contractId: '00rules',
    nodeId,
    lastDescendantNodeId: step.lastDescendantNodeId ?? nodeId,
    consuming: false,
    interfaceId: interfaceName(`TransferInstructionV${String(version)}:TransferFactory`),
    choice: 'TransferFactory_Transfer',
    actingParties: [step.sender],
    choiceArgument: { transfer },
    exerciseResult: { output: { tag: 'TransferInstructionResult_Completed', value: { receiverHoldingCids: [] } } },
  };
  return { ExercisedEvent: frames.exercised(event) };
}
