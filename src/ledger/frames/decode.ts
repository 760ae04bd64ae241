/**
 * Decodes frames of the two streams into model types. Tolerates every absent field that indexing does not require.
 * Refuses frames without the offset, contract ids, template ids or choice names (UPDATE_UNDECODABLE, with JSON path and
 * offset). Kinds of updates and topology events that this version does not know are kept raw; unknown fields are
 * reported by name.
 */
import { IndexerError, toIndexerError, atOffset } from '../../errors/indexer-error.ts';
import { safeKey, type UnknownNames } from '../../model/unknown.ts';
import { stringOf, type TextOrUtf8, type Utf8 } from '../../model/utf8.ts';
import type { ActiveContractEntry, OffsetCheckpoint, StoredUpdate, Update, UpdateHeader } from '../../model/update.ts';
import {
  integerAt,
  int64At,
  isObject,
  arrayAt,
  objectAt,
  offsetAt,
  nonEmptyTextAt,
  requiredName,
  textAt,
  undecodable,
  type JsonObject,
} from './field.ts';
import { readFrame } from './frame-reader.ts';
import { activeContractFrame, updateFrame, type Shape } from './frame-shapes.ts';
import { unknownFields, type MessageName } from './known-fields.ts';
import { jsonTextOf, scanFrame } from './raw-json.ts';
import {
  decodeArchived,
  decodeAssigned,
  decodeCreated,
  decodeExercised,
  decodeTopologyEvent,
  decodeUnassigned,
  sentText,
  type PayloadText,
} from './decode-event.ts';

/**
 * Decodes one frame of `/v2/updates`: `{"update":{"<Kind>":{"value":{…}}}}`. An update decoded from a string has copies
 * of its texts; one decoded from bytes may contain texts that point into them.
 * @param unknownNames receives the names of fields that this version does not know, and counts transactions that the fast
 *   reader could not read
 */
export function decodeUpdate(frame: TextOrUtf8, unknownNames?: UnknownNames): Update {
  const { value, fields, isFallback: isScanned } = lossless(frame, updates);
  // Only transactions are counted: the scanner reads all other kinds anyway.
  if (isScanned && value.kind === 'transaction' && unknownNames !== undefined)
    unknownNames.fallbackDecodedTransactions += 1;
  if (fields.length > 0) recordUnknownFields(fields, value.offset, unknownNames);
  return value;
}

/** Decodes one frame of `/v2/state/active-contracts`; as `decodeUpdate`. */
export function decodeActiveContract(frame: TextOrUtf8, unknownNames?: UnknownNames): ActiveContractEntry {
  const { value, fields } = lossless(frame, activeContracts);
  if (fields.length > 0) recordUnknownFields(fields, null, unknownNames);
  return value;
}

function recordUnknownFields(
  names: readonly string[],
  firstOffset: number | null,
  unknownNames: UnknownNames | undefined,
): void {
  for (const name of names) unknownNames?.add({ kind: 'field', name, firstOffset, count: 1 });
}

interface FrameKind<T> {
  readonly shape: Shape;
  readonly message: MessageName;
  readonly decode: (frame: unknown, payloadOf: PayloadText) => T;
}

const updates: FrameKind<Update> = {
  shape: updateFrame,
  message: 'updateFrame',
  decode: decodeUpdateValue,
};
const activeContracts: FrameKind<ActiveContractEntry> = {
  shape: activeContractFrame,
  message: 'ActiveContractEntry',
  decode: decodeEntryValue,
};

/** Contents of a frame, and the fields that were skipped. */
interface DecodedFrame<T> {
  readonly value: T;
  readonly fields: readonly string[];
  /** Whether the scanner read the frame, because the fast reader could not. */
  readonly isFallback: boolean;
}

function lossless<T>(frame: TextOrUtf8, kind: FrameKind<T>): DecodedFrame<T> {
  if (typeof frame === 'string') return decodeScanned(frame, kind, false);
  return decodeQuickly(frame, kind) ?? decodeScanned(stringOf(frame), kind, true);
}

/**
 * Decodes with the fast reader. Undefined if it cannot: the frame has integers beyond 2^53, or an error, which the
 * scanner will report.
 */
function decodeQuickly<T>(frame: Utf8, { shape, decode }: FrameKind<T>): DecodedFrame<T> | undefined {
  const readResult = readFrame(frame, shape);
  if (readResult === undefined) return undefined;
  try {
    return { value: decode(readResult.value, readPayload), fields: readResult.unknown, isFallback: false };
  } catch {
    return undefined;
  }
}

/** Checks that the value is one of those that the fast reader returns for a payload. */
function readPayload(value: unknown): TextOrUtf8 | null {
  return value === undefined ? null : (value as TextOrUtf8 | null);
}

function decodeScanned<T>(text: string, { decode, message }: FrameKind<T>, isScanned: boolean): DecodedFrame<T> {
  // The scanner only splits JSON; it does not check that each part is JSON.
  valid(text, JSON.parse);
  const frame = scanFrame(text);
  try {
    return { value: decode(frame, jsonTextOf), fields: unknownFields(frame, message), isFallback: isScanned };
  } catch (thrown) {
    throw withOffset(thrown, frame);
  }
}

/** Unlike JSON of another shape, the frame may have been truncated on its way, so the frame is requested again. */
function notJsonError(): IndexerError {
  return new IndexerError('the frame is not JSON', {
    code: 'UPDATE_UNDECODABLE',
    remedy: 'check proxies in between; if none alters the data, report this with the version of the participant',
    facts: { path: 'frame' },
  });
}

function valid<T>(text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    throw notJsonError();
  }
}

function withOffset(thrown: unknown, frame: unknown): IndexerError {
  const error = toIndexerError(thrown);
  const update = isObject(frame) && isObject(frame['update']) ? Object.values(frame['update'])[0] : undefined;
  const value = isObject(update) ? update['value'] : undefined;
  const offset = isObject(value) ? value['offset'] : undefined;
  if (typeof offset !== 'number') return error;
  return atOffset(error, offset);
}

function decodeUpdateValue(frame: unknown, payloadOf: PayloadText): Update {
  const update = objectAt(objectAt(frame, 'frame')['update'], 'update');
  const kind = Object.keys(update)[0];
  if (kind === undefined) throw undecodable('update', 'one kind of update', update);
  const envelope = `update.${safeKey(kind)}`;
  const path = `${envelope}.value`;
  const value = objectAt(objectAt(update[kind], envelope)['value'], path);
  switch (kind) {
    case 'Transaction':
      return decodeTransaction(payloadOf, value, path);
    case 'Reassignment':
      return decodeReassignment(payloadOf, value, path);
    case 'TopologyTransaction':
      return { kind: 'topology', ...headerOfKnownKind(value, path), events: topologyEvents(value, path) };
    case 'OffsetCheckpoint':
      return decodeOffsetCheckpoint(value, path);
    default:
      return { kind: 'unknown', ...header(value, path), name: safeKey(kind), raw: sentText(update), events: [] };
  }
}

function header(value: JsonObject, path: string): UpdateHeader {
  const trace = isObject(value['traceContext']) ? value['traceContext'] : {};
  return {
    offset: offsetAt(value, 'offset', path),
    updateId: textAt(value, 'updateId', path),
    synchronizerId: nonEmptyTextAt(value, 'synchronizerId', path) ?? '',
    recordTime: textAt(value, 'recordTime', path),
    traceParent: textAt(trace, 'traceparent', `${path}.traceContext`),
    traceState: textAt(trace, 'tracestate', `${path}.traceContext`),
    commandId: textAt(value, 'commandId', path),
    workflowId: textAt(value, 'workflowId', path),
    paidTrafficCost: int64At(value, 'paidTrafficCost', path),
  };
}

/**
 * The header of an update whose message requires these fields in each release. An update without them is refused, not
 * stored partially.
 */
function headerOfKnownKind(value: JsonObject, path: string): UpdateHeader {
  const updateHeader = header(value, path);
  if (updateHeader.updateId === null) throw missingFieldError(value, 'updateId', path);
  if (updateHeader.recordTime === null) throw missingFieldError(value, 'recordTime', path);
  if (updateHeader.synchronizerId === '') throw missingFieldError(value, 'synchronizerId', path);
  return updateHeader;
}

function missingFieldError(value: JsonObject, key: string, path: string): IndexerError {
  return undecodable(`${path}.${key}`, 'text', value[key]);
}

function decodeTransaction(payloadOf: PayloadText, value: JsonObject, path: string): StoredUpdate {
  const updateHeader = headerOfKnownKind(value, path);
  const effectiveAt = textAt(value, 'effectiveAt', path);
  if (effectiveAt === null) throw missingFieldError(value, 'effectiveAt', path);
  return {
    kind: 'transaction',
    ...updateHeader,
    effectiveAt,
    externalTransactionHash: textAt(value, 'externalTransactionHash', path),
    transactionHash: textAt(value, 'transactionHash', path),
    events: arrayAt(value, 'events', path).map((event, index) => {
      const eventPath = `${path}.events[${String(index)}]`;
      const variant = objectAt(event, eventPath);
      if ('CreatedEvent' in variant)
        return decodeCreated(
          payloadOf,
          variant['CreatedEvent'],
          `${eventPath}.CreatedEvent`,
          updateHeader.offset,
          index,
        );
      if ('ArchivedEvent' in variant)
        return decodeArchived(variant['ArchivedEvent'], `${eventPath}.ArchivedEvent`, index);
      if ('ExercisedEvent' in variant)
        return decodeExercised(payloadOf, variant['ExercisedEvent'], `${eventPath}.ExercisedEvent`, index);
      throw undecodable(eventPath, 'CreatedEvent, ArchivedEvent or ExercisedEvent', event);
    }),
  };
}

function decodeReassignment(payloadOf: PayloadText, value: JsonObject, path: string): StoredUpdate {
  const updateHeader = headerOfKnownKind(value, path);
  return {
    kind: 'reassignment',
    ...updateHeader,
    events: arrayAt(value, 'events', path).map((event, index) => {
      const eventPath = `${path}.events[${String(index)}]`;
      const variant = objectAt(event, eventPath);
      if ('JsAssignmentEvent' in variant) {
        return decodeAssigned(
          payloadOf,
          variant['JsAssignmentEvent'],
          `${eventPath}.JsAssignmentEvent`,
          updateHeader.offset,
          index,
        );
      }
      if ('JsUnassignedEvent' in variant) {
        const unassignedEvent = objectAt(variant['JsUnassignedEvent'], `${eventPath}.JsUnassignedEvent`);
        return decodeUnassigned(
          unassignedEvent['value'],
          `${eventPath}.JsUnassignedEvent.value`,
          updateHeader.offset,
          index,
        );
      }
      throw undecodable(eventPath, 'JsAssignmentEvent or JsUnassignedEvent', event);
    }),
  };
}

function topologyEvents(value: JsonObject, path: string) {
  return arrayAt(value, 'events', path).map((event, index) =>
    decodeTopologyEvent(event, `${path}.events[${String(index)}]`),
  );
}

function decodeOffsetCheckpoint(value: JsonObject, path: string): OffsetCheckpoint {
  return {
    kind: 'offset_checkpoint',
    offset: offsetAt(value, 'offset', path),
    synchronizerTimes: arrayAt(value, 'synchronizerTimes', path).map((time, index) => {
      const timePath = `${path}.synchronizerTimes[${String(index)}]`;
      const entry = objectAt(time, timePath);
      return {
        synchronizerId: requiredName(entry, 'synchronizerId', timePath),
        recordTime: requiredName(entry, 'recordTime', timePath),
      };
    }),
  };
}

function decodeEntryValue(frame: unknown, payloadOf: PayloadText): ActiveContractEntry {
  const source = objectAt(frame, 'frame');
  const token = textAt(source, 'streamContinuationToken', 'frame');
  const commonFields = {
    workflowId: textAt(source, 'workflowId', 'frame'),
    continuationToken: token === null ? null : stringOf(token),
  };
  const entry = objectAt(source['contractEntry'], 'contractEntry');
  const kind = Object.keys(entry)[0] ?? 'JsEmpty';
  const path = `contractEntry.${safeKey(kind)}`;
  const value = objectAt(entry[kind] ?? {}, path);
  switch (kind) {
    case 'JsActiveContract':
      return {
        kind: 'active',
        ...commonFields,
        created: decodeCreated(payloadOf, value['createdEvent'], `${path}.createdEvent`, 0, 0),
        synchronizerId: nonEmptyTextAt(value, 'synchronizerId', path) ?? '',
        reassignmentCounter: integerAt(value, 'reassignmentCounter', path),
      };
    case 'JsIncompleteUnassigned':
      return {
        kind: 'incomplete_unassigned',
        ...commonFields,
        created: decodeCreated(payloadOf, value['createdEvent'], `${path}.createdEvent`, 0, 0),
        unassigned: decodeUnassigned(value['unassignedEvent'], `${path}.unassignedEvent`, 0, 0),
      };
    case 'JsIncompleteAssigned': {
      const assignedEvent = objectAt(value['assignedEvent'], `${path}.assignedEvent`);
      return {
        kind: 'incomplete_assigned',
        ...commonFields,
        assigned: decodeAssigned(payloadOf, assignedEvent, `${path}.assignedEvent`, 0, 0),
        createdText: sentText(assignedEvent['createdEvent']),
      };
    }
    case 'JsEmpty':
      return { kind: 'empty', ...commonFields };
    default:
      throw undecodable('contractEntry', 'an active, incomplete or empty entry', entry);
  }
}
