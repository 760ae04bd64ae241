/** The default limits of a participant, and the refusals of its HTTP server before it looks up an endpoint. */
import type { IncomingMessage } from 'node:http';
import { UndecodableRequest } from './failure.ts';
import { isFrom } from './release.ts';
import type { Release } from './release.ts';

const mebibyte = 1024 * 1024;

export interface Limits {
  /** Milliseconds between OffsetCheckpoints of a stream. */
  readonly checkpointIntervalMs: number;
  /** Maximum number of elements of a list response (`http-list-max-elements-limit`). */
  readonly listElements: number;
  /** Milliseconds without an element after which an open list ends (`http-list-wait-time`). */
  readonly listWaitMs: number;
  /** Maximum number of bytes of a request body. */
  readonly bodyBytes: number;
  /** Milliseconds after which a request gets a 503 (`request-timeout`), unless the request names its own timeout. */
  readonly requestTimeoutMs: number;
  /** Maximum nesting of lists and objects in a request. */
  readonly nesting: number;
}

/** The limits of a release, overridden by the given ones. */
export function limitsOf(release: Release, overrides: Partial<Limits> = {}): Limits {
  return {
    checkpointIntervalMs: 60_000,
    listElements: 200,
    listWaitMs: 500,
    bodyBytes: (isFrom(release, '3.6') ? 10 : 8) * mebibyte,
    requestTimeoutMs: 20_000,
    nesting: isFrom(release, '3.6') ? 110 : 512,
    ...overrides,
  };
}

const headerCount = 64;
const headerValueLength = 8192;

/** Maximum number of bytes of a complete header section. It is above the server's own limits, so that those decide. */
export const headerSectionBytes = 2 * headerCount * headerValueLength;

export interface HeaderRefusal {
  readonly status: 400 | 431;
  readonly content: string;
}

/**
 * The refusal of a request with too many headers, or with a value that is too long (which limits the size of tokens).
 */
export function headerRefusal({ rawHeaders }: IncomingMessage): HeaderRefusal | undefined {
  if (rawHeaders.length / 2 > headerCount) {
    return { status: 400, content: `The request has more than ${headerCount} headers.` };
  }
  const isTooLong = rawHeaders.some((text, index) => index % 2 === 1 && text.length > headerValueLength);
  if (!isTooLong) return undefined;
  return { status: 431, content: `A header value is longer than ${headerValueLength} characters.` };
}

const timedOut =
  'The server was not able to produce a timely response to your request.\r\nPlease try again in a short while!';

/** An endpoint that took longer than the request timeout: 503 text/plain. */
export class RequestTimeout extends Error {
  override readonly name = 'RequestTimeout';

  constructor() {
    super(timedOut);
  }
}

/**
 * The timeout that a request sets in its header `Request-Timeout`, from 1 to 60 seconds, since 3.6; milliseconds.
 * Undefined if it sets none. Throws Undecodable for other values.
 */
export function requestTimeoutOf({ headers }: IncomingMessage, release: Release): number | undefined {
  const header = headers['request-timeout'];
  if (header === undefined || !isFrom(release, '3.6')) return undefined;
  const milliseconds = typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : 0;
  if (milliseconds >= 1000 && milliseconds <= 60_000) return milliseconds;
  throw new UndecodableRequest('header Request-Timeout', 'expected milliseconds from 1000 to 60000');
}

/**
 * The result of `run`; throws RequestTimeout after the time has passed. The running work continues without effect on
 * the response.
 */
export async function runWithin<T>(milliseconds: number, run: () => T | Promise<T>): Promise<T> {
  const result = run();
  if (!(result instanceof Promise)) return result;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimeout()), milliseconds);
  });
  try {
    return await Promise.race([result, limit]);
  } finally {
    clearTimeout(timer);
  }
}
