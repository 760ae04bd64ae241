/**
 * HTTP to another server: sends one request, and reads a limited part of its response. Redirects are never followed,
 * because the content of a request (a token, a secret, an event) is only for the server it is addressed to.
 */
import { type Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { limitInformational } from './informational.ts';

export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly payload?: Buffer | string | undefined;
  /** Certificates, only for https. */
  readonly tls?: Certificates | undefined;
  /** Pool of connections to reuse; false for a connection that is used once. Default: Node's own pool. */
  readonly agent?: Agent | false | undefined;
  /** Aborting it ends the request and its response. */
  readonly signal?: AbortSignal | undefined;
}

/** Certificates in PEM form. */
interface Certificates {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface SentRequest {
  readonly request: ClientRequest;
  /** Settles when the headers of the response have arrived. Rejects with Node's error, or TooManyInformational. */
  readonly response: Promise<IncomingMessage>;
}

/** Sends a request, http or https. The caller sets time limits: see {@link withRequestTimeout}. */
export function send(url: URL, { method, headers, payload, tls, agent, signal }: OutgoingRequest): SentRequest {
  const isSecure = url.protocol === 'https:';
  const length = payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) };
  const request = (isSecure ? httpsRequest : httpRequest)(url, {
    method,
    headers: { ...headers, ...length },
    ...(agent === undefined ? {} : { agent }),
    ...(isSecure ? tls : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  limitInformational(request);
  // Attached synchronously: an error may be emitted in the next tick, and without a listener it would end the process.
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
  });
  response.catch(() => undefined);
  request.end(payload);
  return { request, response };
}

/**
 * Settles like `work`. If `work` takes longer than the limit, aborts the request and rejects with the result of
 * `timeoutError`.
 */
export function withRequestTimeout<T>(
  request: ClientRequest,
  limitMs: number,
  work: Promise<T>,
  timeoutError: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      // Rejected before the request is destroyed, because destroying it after the response has begun reports only
      // "aborted".
      reject(timeoutError());
      request.destroy();
    }, limitMs);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

/**
 * All bytes of the chunks.
 * @throws the result of `tooLargeError` if there are more than `maxBytes`; any error of reading
 */
export async function readBody(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  tooLargeError: () => Error,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  if (!(await readChunks(parts, chunks, maxBytes))) throw tooLargeError();
  return Buffer.concat(parts);
}

/**
 * Adds chunks to `parts` until they end. If they exceed `maxBytes` bytes, the connection is closed. Chunks received
 * before a failure are in `parts`.
 * @returns whether the response was complete
 */
export async function readChunks(parts: Buffer[], chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<boolean> {
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    // Leaving the loop closes the connection.
    if (length > maxBytes) return false;
  }
  return true;
}
