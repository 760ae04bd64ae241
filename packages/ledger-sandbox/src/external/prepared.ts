/**
 * Prepared transactions: an interpreted submission with everything that its execution needs, and the hash that its
 * external parties sign. The bytes are opaque to clients. Their content begins with a readable description.
 */
import { createHash } from 'node:crypto';
import { UndecodableRequest, invalidArgument } from '../wire/failure.ts';
import { asList, asObject, asText, asTexts, parseRequest } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';
import { isWithin } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';
import { purpose, purposeHash } from './keys.ts';

/** Period in which a prepared transaction can be executed, microseconds. */
export const lifetimeMicros = 24 * 3600 * 1_000_000;

export interface PreparedSubmission {
  /** Commands in the form of requests. They name contracts only by id, so that the execution needs no lookup. */
  readonly commands: readonly Json[];
  readonly actAs: readonly string[];
  readonly commandId: string;
  readonly synchronizerId: string;
  /** Microseconds since 1970. */
  readonly preparedAt: number;
  /** Distinguishes transactions that are otherwise equal. */
  readonly transactionUuid: string;
  /** Microseconds since 1970. After this time, the ledger must not record the transaction. */
  readonly maxRecordTime?: number;
}

const mark = 'sandbox prepared transaction 1';

/** Hashing schemes of a release, in addition to UNSPECIFIED, which means V2. */
function schemesOf(release: Release): readonly string[] {
  const [v3, v4] = [isWithin(release, '3.5', undefined), isWithin(release, '3.6', undefined)];
  return ['V2', ...(v3 ? ['V3'] : []), ...(v4 ? ['V4'] : [])].map((version) => `HASHING_SCHEME_VERSION_${version}`);
}

const unspecified = 'HASHING_SCHEME_VERSION_UNSPECIFIED';

/** The scheme in a request; undefined if the request names none. Throws the decoder's refusal for an unknown name. */
export function parseScheme(value: Json | undefined, release: Release): string | undefined {
  const scheme = asText(value);
  if (scheme === '' || scheme === unspecified) return undefined;
  if (schemesOf(release).includes(scheme)) return scheme;
  throw new UndecodableRequest('body', `Unknown enum value: ${scheme.slice(0, 60)}`);
}

/** The scheme of preparations that do not request one. */
export const defaultScheme = 'HASHING_SCHEME_VERSION_V2';

export function encodePrepared(submission: PreparedSubmission): Buffer {
  return Buffer.from(`${mark}\n${JSON.stringify(submission)}`);
}

/**
 * Decodes a prepared transaction. Throws INVALID_ARGUMENT for bytes that no preparation could have created. Any client
 * can write such bytes, so their content is checked like a request. The signatures prove who submits it, but they do
 * not prove that it was checked earlier.
 */
export function decodePrepared(bytes: Buffer): PreparedSubmission {
  const text = bytes.toString();
  const body = text.startsWith(`${mark}\n`) ? asObject(parseRequest(text.slice(mark.length + 1))) : undefined;
  const { preparedAt, maxRecordTime } = body ?? {};
  const isTime = (value: Json | undefined): value is number => Number.isSafeInteger(value);
  const texts = ['commandId', 'synchronizerId', 'transactionUuid'].map((key) => asText(body?.[key]));
  const [commandId = '', synchronizerId = '', transactionUuid = ''] = texts;
  if (
    body === undefined ||
    texts.includes('') ||
    !isTime(preparedAt) ||
    !(maxRecordTime === undefined || isTime(maxRecordTime))
  ) {
    throw invalidArgument('Unable to parse the prepared transaction');
  }
  const content = { commands: asList(body['commands']), actAs: asTexts(body['actAs']), commandId, synchronizerId };
  return { ...content, preparedAt, transactionUuid, ...(maxRecordTime === undefined ? {} : { maxRecordTime }) };
}

/** The 32 bytes that external parties sign. They differ by scheme. */
export function hashPrepared(bytes: Buffer, scheme: string): Buffer {
  const version = Buffer.from([Number(scheme.slice(-1))]);
  return purposeHash(
    purpose.preparedTransaction,
    Buffer.concat([version, createHash('sha256').update(bytes).digest()]),
  );
}
