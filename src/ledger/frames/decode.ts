/**
 * Decodes frames of the two streams into model types. Tolerates every absent field that indexing does not require.
 * Refuses frames without the offset, contract ids, template ids or choice names (UPDATE_UNDECODABLE, with JSON path and
 * offset). Kinds of updates and topology events that this version does not know are kept raw; unknown fields are
 * reported by name.
 */
import { IndexerError, toIndexerError, atOffset } from '../../errors/indexer-error.ts';
import { safeKey, type UnknownNames } from '../../model/unknown.ts';
import { stringOf, type Text, type Utf8 } from '../../model/utf8.ts';
import type { ActiveContractEntry, OffsetCheckpoint, StoredUpdate, Update, UpdateHeader } from '../../model/update.ts';
import {
  integerAt,
  int64At,
  isObject,
  listAt,
  objectAt,
  offsetAt,
  nameAt,
  requiredName,
  textAt,
  undecodable,
  type JsonObject,
} from './field.ts';
import { readFrame } from './frame-reader.ts';
import { activeContractFrame, updateFrame, type Shape } from './frame-shapes.ts';
import { unknownFields, type KnownMessage } from './known-fields.ts';
import { jsonTextOf, scanFrame } from './raw-json.ts';
import {
  decodeArchived,
  decodeAssigned,
  decodeCreated,
  decodeExercised,
  decodeTopologyEvent,
  decodeUnassigned,
  sentText,
  type PayloadOf,
} from './decode-event.ts';

/**
 * Decodes one frame of `/v2/updates`: `{"update":{"<Kind>":{"value":{…}}}}`. An update decoded from a string has copies
 * of its texts; one decoded from bytes may contain texts that point into them.
 * @param unknown receives the names of fields that this version does not know, and counts transactions that the fast
 *   reader could not read
 */
export function decodeUpdate(frame: Text, unknown?: UnknownNames): Update {
  const { value, fields, isFallback } = lossless(frame, updates);
  // Only transactions are counted: the scanner reads all other kinds anyway.
  if (isFallback && value.kind === 'transaction' && unknown !== undefined) unknown.fallbackDecodedTransactions += 1;
  if (fields.length > 0) noteFields(fields, value.offset, unknown);
  return value;
}

/** Decodes one frame of `/v2/state/active-contracts`; as `decodeUpdate`. */
export function decodeActiveContract(frame: Text, unknown?: UnknownNames): ActiveContractEntry {
  const { value, fields } = lossless(frame, activeContracts);
  if (fields.length > 0) noteFields(fields, null, unknown);
  return value;
}

function noteFields(names: readonly string[], firstOffset: number | null, unknown: UnknownNames | undefined): void {
  for (const name of names) unknown?.add({ kind: 'field', name, firstOffset, count: 1 });
}

interface FrameKind<T> {
  readonly shape: Shape;
  readonly message: KnownMessage;
  readonly decode: (frame: unknown, payloadOf: PayloadOf) => T;
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
interface Decoded<T> {
  readonly value: T;
  readonly fields: readonly string[];
  /** Whether the scanner read the frame, because the fast reader could not. */
  readonly isFallback: boolean;
}

function lossless<T>(frame: Text, kind: FrameKind<T>): Decoded<T> {
  if (typeof frame === 'string') return scanned(frame, kind, false);
  return quickly(frame, kind) ?? scanned(stringOf(frame), kind, true);
}

/**
 * Decodes with the fast reader. Undefined if it cannot: the frame has integers beyond 2^53, or an error, which the
 * scanner will report.
 */
function quickly<T>(frame: Utf8, { shape, decode }: FrameKind<T>): Decoded<T> | undefined {
  const read = readFrame(frame, shape);
  if (read === undefined) return undefined;
  try {
    return { value: decode(read.value, readPayload), fields: read.unknown, isFallback: false };
  } catch {
    return undefined;
  }
}

/** Checks that the value is one of those that the fast reader returns for a payload. */
function readPayload(value: unknown): Text | null {
  return value === undefined ? null : (value as Text | null);
}

function scanned<T>(text: string, { decode, message }: FrameKind<T>, isFallback: boolean): Decoded<T> {
  // The scanner only splits JSON; it does not check that each part is JSON.
  valid(text, JSON.parse);
  const frame = scanFrame(text);
  try {
    return { value: decode(frame, jsonTextOf), fields: unknownFields(frame, message), isFallback };
  } catch (thrown) {
    throw withOffset(thrown, frame);
  }
}

/** Unlike JSON of another shape, the frame may have been truncated on its way, so the frame is requested again. */
function notJson(): IndexerError {
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
    throw notJson();
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

function decodeUpdateValue(frame: unknown, payloadOf: PayloadOf): Update {
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
      return { kind: 'topology', ...knownHeader(value, path), events: topologyEvents(value, path) };
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
    synchronizerId: nameAt(value, 'synchronizerId', path) ?? '',
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
function knownHeader(value: JsonObject, path: string): UpdateHeader {
  const head = header(value, path);
  if (head.updateId === null) throw absent(value, 'updateId', path);
  if (head.recordTime === null) throw absent(value, 'recordTime', path);
  if (head.synchronizerId === '') throw absent(value, 'synchronizerId', path);
  return head;
}

function absent(value: JsonObject, key: string, path: string): IndexerError {
  return undecodable(`${path}.${key}`, 'text', value[key]);
}

function decodeTransaction(payloadOf: PayloadOf, value: JsonObject, path: string): StoredUpdate {
  const head = knownHeader(value, path);
  const effectiveAt = textAt(value, 'effectiveAt', path);
  if (effectiveAt === null) throw absent(value, 'effectiveAt', path);
  return {
    kind: 'transaction',
    ...head,
    effectiveAt,
    externalTransactionHash: textAt(value, 'externalTransactionHash', path),
    transactionHash: textAt(value, 'transactionHash', path),
    events: listAt(value, 'events', path).map((event, index) => {
      const at = `${path}.events[${String(index)}]`;
      const variant = objectAt(event, at);
      if ('CreatedEvent' in variant)
        return decodeCreated(payloadOf, variant['CreatedEvent'], `${at}.CreatedEvent`, head.offset, index);
      if ('ArchivedEvent' in variant) return decodeArchived(variant['ArchivedEvent'], `${at}.ArchivedEvent`, index);
      if ('ExercisedEvent' in variant)
        return decodeExercised(payloadOf, variant['ExercisedEvent'], `${at}.ExercisedEvent`, index);
      throw undecodable(at, 'CreatedEvent, ArchivedEvent or ExercisedEvent', event);
    }),
  };
}

function decodeReassignment(payloadOf: PayloadOf, value: JsonObject, path: string): StoredUpdate {
  const head = knownHeader(value, path);
  return {
    kind: 'reassignment',
    ...head,
    events: listAt(value, 'events', path).map((event, index) => {
      const at = `${path}.events[${String(index)}]`;
      const variant = objectAt(event, at);
      if ('JsAssignmentEvent' in variant) {
        return decodeAssigned(payloadOf, variant['JsAssignmentEvent'], `${at}.JsAssignmentEvent`, head.offset, index);
      }
      if ('JsUnassignedEvent' in variant) {
        const half = objectAt(variant['JsUnassignedEvent'], `${at}.JsUnassignedEvent`);
        return decodeUnassigned(half['value'], `${at}.JsUnassignedEvent.value`, head.offset, index);
      }
      throw undecodable(at, 'JsAssignmentEvent or JsUnassignedEvent', event);
    }),
  };
}

function topologyEvents(value: JsonObject, path: string) {
  return listAt(value, 'events', path).map((event, index) =>
    decodeTopologyEvent(event, `${path}.events[${String(index)}]`),
  );
}

function decodeOffsetCheckpoint(value: JsonObject, path: string): OffsetCheckpoint {
  return {
    kind: 'offset_checkpoint',
    offset: offsetAt(value, 'offset', path),
    synchronizerTimes: listAt(value, 'synchronizerTimes', path).map((time, index) => {
      const at = `${path}.synchronizerTimes[${String(index)}]`;
      const entry = objectAt(time, at);
      return {
        synchronizerId: requiredName(entry, 'synchronizerId', at),
        recordTime: requiredName(entry, 'recordTime', at),
      };
    }),
  };
}

function decodeEntryValue(frame: unknown, payloadOf: PayloadOf): ActiveContractEntry {
  const source = objectAt(frame, 'frame');
  const token = textAt(source, 'streamContinuationToken', 'frame');
  const common = {
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
        ...common,
        created: decodeCreated(payloadOf, value['createdEvent'], `${path}.createdEvent`, 0, 0),
        synchronizerId: nameAt(value, 'synchronizerId', path) ?? '',
        reassignmentCounter: integerAt(value, 'reassignmentCounter', path),
      };
    case 'JsIncompleteUnassigned':
      return {
        kind: 'incomplete_unassigned',
        ...common,
        created: decodeCreated(payloadOf, value['createdEvent'], `${path}.createdEvent`, 0, 0),
        unassigned: decodeUnassigned(value['unassignedEvent'], `${path}.unassignedEvent`, 0, 0),
      };
    case 'JsIncompleteAssigned': {
      const half = objectAt(value['assignedEvent'], `${path}.assignedEvent`);
      return {
        kind: 'incomplete_assigned',
        ...common,
        assigned: decodeAssigned(payloadOf, half, `${path}.assignedEvent`, 0, 0),
        createdText: sentText(half['createdEvent']),
      };
    }
    case 'JsEmpty':
      return { kind: 'empty', ...common };
    default:
      throw undecodable('contractEntry', 'an active, incomplete or empty entry', entry);
  }
}
