/** Decodes events from the wire for the writer. It knows their field names, and which fields are wrapped in `value`. */
import type {
  ArchivedEvent,
  AssignedEvent,
  CreatedEvent,
  ExercisedEvent,
  InterfaceView,
  JsonText,
  TopologyEvent,
  UnassignedEvent,
} from '../../model/event.ts';
import { safeKey } from '../../model/unknown.ts';
import { stringOf } from '../../model/utf8.ts';
import {
  flagAt,
  integerAt,
  isObject,
  arrayAt,
  objectAt,
  nonEmptyTextAt,
  requiredName,
  requiredText,
  templateIdAt,
  textAt,
  textsAt,
  undecodable,
  type JsonObject,
} from './field.ts';
import { fieldsByMessage } from './known-fields.ts';
import { sourceTextOf } from './raw-json.ts';

/** Reads a payload from the frame: its JSON text, or null if it is absent. */
export type PayloadText = (value: unknown) => JsonText | null;

/** Decodes a CreatedEvent. `fallbackOffset` and `fallbackNode` are used if an old release leaves them out. */
export function decodeCreated(
  payloadOf: PayloadText,
  value: unknown,
  path: string,
  fallbackOffset: number,
  fallbackNode: number,
): CreatedEvent {
  const event = objectAt(value, path);
  return {
    kind: 'created',
    offset: integerAt(event, 'offset', path) ?? fallbackOffset,
    nodeId: integerAt(event, 'nodeId', path) ?? fallbackNode,
    contractId: requiredText(event, 'contractId', path),
    templateId: templateIdAt(event, 'templateId', path),
    packageName: nonEmptyTextAt(event, 'packageName', path),
    representativePackageId: nonEmptyTextAt(event, 'representativePackageId', path),
    payload: payloadOf(event['createArgument']),
    contractKey: payloadOf(event['contractKey']),
    contractKeyHash: textAt(event, 'contractKeyHash', path),
    createdEventBlob: textAt(event, 'createdEventBlob', path),
    interfaceViews: arrayAt(event, 'interfaceViews', path).map((view, index) =>
      decodeView(payloadOf, view, `${path}.interfaceViews[${String(index)}]`),
    ),
    witnessParties: textsAt(event, 'witnessParties', path),
    signatories: textsAt(event, 'signatories', path),
    observers: textsAt(event, 'observers', path),
    createdAt: textAt(event, 'createdAt', path),
    acsDelta: flagAt(event, 'acsDelta', path),
  };
}

const emptyArrayPattern = /^\[\s*\]$/;

function decodeView(payloadOf: PayloadText, value: unknown, path: string): InterfaceView {
  const view = objectAt(value, path);
  const status = isObject(view['viewStatus']) ? view['viewStatus'] : {};
  const details = payloadOf(status['details']);
  return {
    interfaceId: templateIdAt(view, 'interfaceId', path),
    view: payloadOf(view['viewValue']),
    statusCode: integerAt(status, 'code', `${path}.viewStatus`) ?? 0,
    statusMessage: textAt(status, 'message', `${path}.viewStatus`),
    statusDetails: details !== null && emptyArrayPattern.test(stringOf(details)) ? null : details,
    implementationPackageId: nonEmptyTextAt(view, 'implementationPackageId', path),
  };
}

export function decodeArchived(value: unknown, path: string, fallbackNode: number): ArchivedEvent {
  const event = objectAt(value, path);
  return {
    kind: 'archived',
    nodeId: integerAt(event, 'nodeId', path) ?? fallbackNode,
    contractId: requiredText(event, 'contractId', path),
    templateId: templateIdAt(event, 'templateId', path),
    packageName: nonEmptyTextAt(event, 'packageName', path),
    witnessParties: textsAt(event, 'witnessParties', path),
    implementedInterfaces: textsAt(event, 'implementedInterfaces', path),
  };
}

export function decodeExercised(
  payloadOf: PayloadText,
  value: unknown,
  path: string,
  fallbackNode: number,
): ExercisedEvent {
  const event = objectAt(value, path);
  return {
    kind: 'exercised',
    nodeId: integerAt(event, 'nodeId', path) ?? fallbackNode,
    contractId: requiredText(event, 'contractId', path),
    templateId: templateIdAt(event, 'templateId', path),
    packageName: nonEmptyTextAt(event, 'packageName', path),
    interfaceId: nonEmptyTextAt(event, 'interfaceId', path) === null ? null : templateIdAt(event, 'interfaceId', path),
    choice: requiredName(event, 'choice', path),
    argument: payloadOf(event['choiceArgument']),
    result: payloadOf(event['exerciseResult']),
    actingParties: textsAt(event, 'actingParties', path),
    witnessParties: textsAt(event, 'witnessParties', path),
    consuming: flagAt(event, 'consuming', path) ?? false,
    lastDescendantNodeId: integerAt(event, 'lastDescendantNodeId', path),
    implementedInterfaces: textsAt(event, 'implementedInterfaces', path),
    acsDelta: flagAt(event, 'acsDelta', path),
  };
}

export function decodeUnassigned(
  value: unknown,
  path: string,
  fallbackOffset: number,
  fallbackNode: number,
): UnassignedEvent {
  const event = objectAt(value, path);
  return {
    kind: 'unassigned',
    offset: integerAt(event, 'offset', path) ?? fallbackOffset,
    nodeId: integerAt(event, 'nodeId', path) ?? fallbackNode,
    contractId: requiredName(event, 'contractId', path),
    templateId: templateIdAt(event, 'templateId', path),
    packageName: nonEmptyTextAt(event, 'packageName', path),
    assignmentExclusivity: nonEmptyTextAt(event, 'assignmentExclusivity', path),
    witnessParties: textsAt(event, 'witnessParties', path),
    ...decodeReassignmentHalf(event, path),
  };
}

export function decodeAssigned(
  payloadOf: PayloadText,
  value: unknown,
  path: string,
  fallbackOffset: number,
  fallbackNode: number,
): AssignedEvent {
  const event = objectAt(value, path);
  if (!isObject(event['createdEvent'])) throw undecodable(`${path}.createdEvent`, 'an object', event['createdEvent']);
  return {
    kind: 'assigned',
    created: decodeCreated(payloadOf, event['createdEvent'], `${path}.createdEvent`, fallbackOffset, fallbackNode),
    ...decodeReassignmentHalf(event, path),
  };
}

function decodeReassignmentHalf(event: JsonObject, path: string) {
  return {
    reassignmentId: nonEmptyTextAt(event, 'reassignmentId', path) ?? '',
    source: nonEmptyTextAt(event, 'source', path) ?? '',
    target: nonEmptyTextAt(event, 'target', path) ?? '',
    submitter: nonEmptyTextAt(event, 'submitter', path),
    reassignmentCounter: integerAt(event, 'reassignmentCounter', path),
  };
}

/**
 * A part of a frame as the ledger wrote it. Only the scanner keeps that text, so a frame of the fast reader is read
 * again.
 */
export function sentText(value: unknown): string {
  const text = sourceTextOf(value);
  if (text === undefined) throw new RangeError('a part without its text');
  return text;
}

/** Decodes `{"event":{"<Name>":{"value":{…}}}}`. An event that this version does not know is stored raw. */
export function decodeTopologyEvent(value: unknown, path: string): TopologyEvent {
  const variants = objectAt(objectAt(value, path)['event'], `${path}.event`);
  const [name, variantValue] = Object.entries(variants)[0] ?? [];
  if (name === undefined) throw undecodable(`${path}.event`, 'one event', variants);
  if (!Object.hasOwn(fieldsByMessage.topologyEventEvent, name)) {
    const raw = sentText(variants);
    return { kind: 'topology', name, partyId: null, participantId: null, participantPermission: null, raw };
  }
  const eventPath = `${path}.event.${safeKey(name)}`;
  const event = objectAt(objectAt(variantValue, eventPath)['value'], `${eventPath}.value`);
  return {
    kind: 'topology',
    name,
    partyId: nonEmptyTextAt(event, 'partyId', path),
    participantId: nonEmptyTextAt(event, 'participantId', path),
    participantPermission: nonEmptyTextAt(event, 'participantPermission', path),
    raw: null,
  };
}
