/**
 * Decodes frames of the completion stream into model types: `{"completionResponse":{"Completion":{"value":{…}}}}`.
 * Tolerates every absent field except the offset. The reason for a rejection is read from the details of its status
 * (google.rpc ErrorInfo and ResourceInfo), otherwise from the message, which begins `CODE(category,trace): `.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { CompletionFrame, Rejection } from '../../model/update.ts';
import type { UnknownNames } from '../../model/unknown.ts';
import {
  int64At,
  integerAt,
  isObject,
  arrayAt,
  nonEmptyTextAt,
  objectAt,
  offsetAt,
  textsAt,
  undecodable,
  type JsonObject,
} from './field.ts';
import { unknownFields } from './known-fields.ts';
import { RawJson, scanFrame } from './raw-json.ts';

/** Maximum length of a stored message; longer ones contain entire commands. */
const messageCharacters = 4096;

/**
 * Decodes one frame. Kinds that this version does not know are refused, because a skipped offset would be lost.
 * @param unknownNames receives the names of fields that this version does not know
 * @throws IndexerError UPDATE_UNDECODABLE
 */
export function decodeCompletion(frame: string, unknownNames?: UnknownNames): CompletionFrame {
  const parsed = parseFrame(frame);
  const response = objectAt(objectAt(parsed, 'frame')['completionResponse'], 'completionResponse');
  const kind = Object.keys(response)[0];
  if (kind !== 'Completion' && kind !== 'OffsetCheckpoint') {
    throw undecodable('completionResponse', 'Completion or OffsetCheckpoint', response);
  }
  const path = `completionResponse.${kind}.value`;
  const value = objectAt(objectAt(response[kind], `completionResponse.${kind}`)['value'], path);
  const offset = offsetAt(value, 'offset', path);
  for (const name of unknownFields(parsed, 'completionFrame')) {
    unknownNames?.add({ kind: 'field', name, firstOffset: offset, count: 1 });
  }
  return kind === 'OffsetCheckpoint' ? { kind: 'offset_checkpoint', offset } : completion(value, offset, path);
}

function parseFrame(frame: string): unknown {
  try {
    // The scanner only splits JSON; it does not check that each part is JSON.
    JSON.parse(frame);
  } catch {
    throw new IndexerError('the frame is not JSON', {
      code: 'UPDATE_UNDECODABLE',
      remedy: 'check proxies in between; if none alters the data, report this with the version of the participant',
      facts: { path: 'frame' },
    });
  }
  return scanFrame(frame);
}

function completion(value: JsonObject, offset: number, path: string): CompletionFrame {
  const time = objectField(value, 'synchronizerTime', path);
  const trace = objectField(value, 'traceContext', path);
  const rejection = rejectionOf(value, path);
  return {
    kind: 'completion',
    offset,
    commandId: nonEmptyTextAt(value, 'commandId', path),
    submissionId: nonEmptyTextAt(value, 'submissionId', path),
    userId: nonEmptyTextAt(value, 'userId', path),
    actAs: textsAt(value, 'actAs', path),
    updateId: rejection === null ? nonEmptyTextAt(value, 'updateId', path) : null,
    synchronizerId: nonEmptyTextAt(time, 'synchronizerId', `${path}.synchronizerTime`),
    recordTime: nonEmptyTextAt(time, 'recordTime', `${path}.synchronizerTime`),
    rejection,
    ...deduplication(objectField(value, 'deduplicationPeriod', path), `${path}.deduplicationPeriod`),
    paidTrafficCost: int64At(value, 'paidTrafficCost', path),
    traceParent: nonEmptyTextAt(trace, 'traceparent', `${path}.traceContext`),
    traceState: nonEmptyTextAt(trace, 'tracestate', `${path}.traceContext`),
    transactionHash: nonEmptyTextAt(value, 'transactionHash', path),
  };
}

/** The object under `key`; an empty object if it is absent. */
function objectField(value: JsonObject, key: string, path: string): JsonObject {
  const field = value[key];
  return field === undefined || field === null ? {} : objectAt(field, `${path}.${key}`);
}

/** `{"DeduplicationOffset":{"value":n}}`, or `{"DeduplicationDuration":{"value":{seconds,nanos}}}`, to the microsecond. */
function deduplication(period: JsonObject, path: string) {
  const duration = objectField(objectField(period, 'DeduplicationDuration', path), 'value', path);
  const seconds = int64At(duration, 'seconds', path);
  const nanos = integerAt(duration, 'nanos', path) ?? 0;
  const microseconds = seconds === null ? null : BigInt(seconds) * 1_000_000n + BigInt(Math.trunc(nanos / 1000));
  return {
    deduplicationOffset: int64At(objectField(period, 'DeduplicationOffset', path), 'value', path),
    deduplicationMicroseconds: microseconds,
  };
}

function rejectionOf(value: JsonObject, path: string): Rejection | null {
  const status = objectField(value, 'status', path);
  const statusCode = integerAt(status, 'code', `${path}.status`) ?? 0;
  if (statusCode === 0) return null;
  const message = nonEmptyTextAt(status, 'message', `${path}.status`);
  const codeMatch = /^([A-Z][A-Z0-9_]*)\((-?\d+),/.exec(message ?? '');
  const details = detailsOf(status, path);
  const { reason, metadata } = errorInfo(details);
  return {
    statusCode,
    message: message === null ? null : truncateMessage(message),
    code: reason ?? codeMatch?.[1] ?? null,
    category: parseSmallNumber(metadata['category'] ?? codeMatch?.[2]),
    contractId: contractOf(details),
    choicePath: choicePath(metadata['exercise_trace']),
    submittedAt: /submittedAt: '([0-9T:.Z-]+)'/.exec(metadata['commands'] ?? '')?.[1] ?? null,
  };
}

/** Truncates a message. Half of a surrogate pair at the end would not be a character. */
function truncateMessage(message: string): string {
  return message.slice(0, messageCharacters).replace(/[\ud800-\udbff]$/, '');
}

/** The details as the JSON layer decodes them; a detail that it could not decode is ignored. */
function detailsOf(status: JsonObject, path: string): readonly JsonObject[] {
  const raw = status['details'];
  const details: unknown = raw instanceof RawJson ? JSON.parse(raw.text) : raw;
  return arrayAt({ details }, 'details', `${path}.status`).filter((detail) => isObject(detail));
}

function decodeDetails(details: readonly JsonObject[], type: string): readonly JsonObject[] {
  return details
    .filter(({ typeUrl }) => typeof typeUrl === 'string' && typeUrl.endsWith(`/google.rpc.${type}`))
    .map(({ valueDecoded }) => valueDecoded)
    .filter((detail) => isObject(detail));
}

function errorInfo(details: readonly JsonObject[]) {
  const [info] = decodeDetails(details, 'ErrorInfo');
  const reason = info?.['reason'];
  const entries = isObject(info?.['metadata']) ? Object.entries(info['metadata']) : [];
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const metadata: Readonly<Record<string, string | undefined>> = Object.fromEntries(texts);
  return { reason: typeof reason === 'string' && reason !== '' ? reason : undefined, metadata };
}

function parseSmallNumber(text: string | undefined): number | null {
  return text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : null;
}

function contractOf(details: readonly JsonObject[]): string | null {
  for (const { resourceType, resourceName } of decodeDetails(details, 'ResourceInfo')) {
    const isContract = typeof resourceType === 'string' && /\bCONTRACT_ID\b|\bCID\b/.test(resourceType);
    if (isContract && typeof resourceName === 'string' && /^[0-9a-f]{2,4096}$/.test(resourceName)) return resourceName;
  }
  return null;
}

/**
 * The trace begins with the choice that failed and ends with the command: `in exercise command pkg:Mod:T:Choice on
 * contract …`.
 */
function choicePath(trace: string | undefined): string | null {
  const lines = [...(trace ?? '').matchAll(/ in (?:[a-z-]+ command|choice) ([^\s:]+:[^\s:]+:[^\s:]+:[^\s:]+)/g)];
  return lines.at(-1)?.[1] ?? null;
}
