/**
 * The fields of every message that this version knows, for frames that the scanner reads. Fields of messages that the
 * fast reader reads are in `frame-shapes.ts`. This module only names additional fields; it refuses nothing.
 */
import { safeKey } from '../../model/unknown.ts';
import { isObject } from './field.ts';
import {
  archivedShape,
  created,
  exercised,
  interfaceView,
  type Shape,
  traceContext,
  viewStatus,
} from './frame-shapes.ts';

/**
 * By field: name of the message in it, or in each of its elements if it is a list; null for a field without a message.
 */
type Fields = Readonly<Record<string, string | null>>;

const update = {
  updateId: null,
  recordTime: null,
  synchronizerId: null,
  offset: null,
  traceContext: 'TraceContext',
} satisfies Fields;
const reassignmentHalf = {
  source: null,
  target: null,
  reassignmentId: null,
  submitter: null,
  reassignmentCounter: null,
} satisfies Fields;
const event = {
  offset: null,
  nodeId: null,
  contractId: null,
  templateId: null,
  witnessParties: null,
  packageName: null,
} satisfies Fields;

/** By message, named as in docs/reference/coverage.md. Lower-case names are nested objects that have no name there. */
export const fieldsByMessage = {
  updateFrame: { update: 'update' },
  update: {
    Transaction: 'transaction',
    Reassignment: 'reassignment',
    TopologyTransaction: 'topologyTransaction',
    OffsetCheckpoint: 'offsetCheckpoint',
  },
  transaction: { value: 'Transaction' },
  reassignment: { value: 'Reassignment' },
  topologyTransaction: { value: 'TopologyTransaction' },
  offsetCheckpoint: { value: 'OffsetCheckpoint' },
  Transaction: {
    ...update,
    commandId: null,
    workflowId: null,
    effectiveAt: null,
    externalTransactionHash: null,
    transactionHash: null,
    paidTrafficCost: null,
    events: 'event',
  },
  Reassignment: {
    ...update,
    commandId: null,
    workflowId: null,
    paidTrafficCost: null,
    events: 'reassignmentEvent',
  },
  TopologyTransaction: { ...update, events: 'topologyEvent' },
  OffsetCheckpoint: { offset: null, synchronizerTimes: 'SynchronizerTime' },
  SynchronizerTime: { synchronizerId: null, recordTime: null },
  CreatedEvent: fieldsOf(created),
  ArchivedEvent: fieldsOf(archivedShape),
  ExercisedEvent: fieldsOf(exercised),
  InterfaceView: fieldsOf(interfaceView),
  ViewStatus: fieldsOf(viewStatus),
  TraceContext: fieldsOf(traceContext),
  event: { CreatedEvent: 'CreatedEvent', ArchivedEvent: 'ArchivedEvent', ExercisedEvent: 'ExercisedEvent' },
  reassignmentEvent: { JsAssignmentEvent: 'JsAssignmentEvent', JsUnassignedEvent: 'unassignedEvent' },
  unassignedEvent: { value: 'JsUnassignedEvent' },
  JsUnassignedEvent: { ...event, ...reassignmentHalf, assignmentExclusivity: null },
  JsAssignmentEvent: { ...reassignmentHalf, createdEvent: 'CreatedEvent' },
  topologyEvent: { event: 'topologyEventEvent' },
  topologyEventEvent: {
    ParticipantAuthorizationAdded: 'authorization',
    ParticipantAuthorizationChanged: 'authorization',
    ParticipantAuthorizationOnboarding: 'authorization',
    ParticipantAuthorizationRevoked: 'authorization',
  },
  authorization: { value: 'TopologyEvent' },
  TopologyEvent: { partyId: null, participantId: null, participantPermission: null },
  ActiveContractEntry: { workflowId: null, streamContinuationToken: null, contractEntry: 'contractEntry' },
  contractEntry: {
    JsActiveContract: 'JsActiveContract',
    JsIncompleteUnassigned: 'JsIncompleteUnassigned',
    JsIncompleteAssigned: 'JsIncompleteAssigned',
    JsEmpty: 'JsEmpty',
  },
  JsActiveContract: { createdEvent: 'CreatedEvent', synchronizerId: null, reassignmentCounter: null },
  JsIncompleteUnassigned: { createdEvent: 'CreatedEvent', unassignedEvent: 'JsUnassignedEvent' },
  JsIncompleteAssigned: { assignedEvent: 'JsAssignmentEvent' },
  JsEmpty: {},
  completionFrame: { completionResponse: 'completionResponse' },
  completionResponse: { Completion: 'completion', OffsetCheckpoint: 'offsetCheckpoint' },
  completion: { value: 'Completion' },
  Completion: {
    offset: null,
    commandId: null,
    status: 'Status',
    updateId: null,
    userId: null,
    actAs: null,
    submissionId: null,
    deduplicationPeriod: 'DeduplicationPeriod',
    traceContext: 'TraceContext',
    synchronizerTime: 'SynchronizerTime',
    paidTrafficCost: null,
    transactionHash: null,
  },
  Status: { code: null, message: null, details: null },
  DeduplicationPeriod: { DeduplicationOffset: null, DeduplicationDuration: null, Empty: null },
} as const satisfies Readonly<Record<string, Fields>>;

/** All fields of a message that the fast reader knows. */
function fieldsOf({ fields }: Shape): Fields {
  return Object.fromEntries(fields.map(({ name, shape }) => [name, shape?.message ?? null]));
}

export type MessageName = keyof typeof fieldsByMessage;

/**
 * Objects with one key, which selects the variant. An unknown variant is kept raw or refused, and not reported as a
 * field.
 */
const variants: ReadonlySet<string> = new Set([
  'update',
  'event',
  'reassignmentEvent',
  'topologyEventEvent',
  'contractEntry',
]);

/**
 * Names of the fields of a scanned frame that this version does not know, as `Message.field`, each as often as it
 * occurred.
 */
export function unknownFields(frame: unknown, message: MessageName): readonly string[] {
  const unknownNames: string[] = [];
  collect(frame, message, unknownNames);
  return unknownNames;
}

function collect(value: unknown, message: string, unknownNames: string[]): void {
  if (Array.isArray(value)) {
    for (const entry of value) collect(entry, message, unknownNames);
    return;
  }
  if (!isObject(value)) return;
  const messageFields: Fields = fieldsByMessage[message as MessageName];
  const keys = Object.keys(value);
  for (const key of keys) {
    const childMessage = Object.hasOwn(messageFields, key) ? messageFields[key] : undefined;
    if (childMessage === undefined) {
      if (keys.length > 1 || !variants.has(message)) unknownNames.push(fieldName(message, key));
    } else if (childMessage !== null) collect(value[key], childMessage, unknownNames);
  }
}

/** Name of a field that is not known in a message. */
export function fieldName(message: string, key: string): string {
  return `${message}.${safeKey(key)}`;
}
