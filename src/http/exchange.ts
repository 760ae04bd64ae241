/**
 * HTTP to another server: one request, and as much of its response as is needed. Redirects are never followed: the
 * content of a request (a token, a secret, an event) is for the named server only.
 */
import { type Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { limitInformational } from './informational.ts';

export interface Outgoing {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly payload?: Buffer | string | undefined;
  /** Certificates; https only. */
  readonly tls?: Certificates | undefined;
  /** Connections to reuse; false: a connection for this request alone. Default: Node's own. */
  readonly agent?: Agent | false | undefined;
  /** Ends the request and its response. */
  readonly signal?: AbortSignal | undefined;
}

/** PEM. */
interface Certificates {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface Sent {
  readonly request: ClientRequest;
  /** Settles when the headers of the response have arrived. Rejects with Node's error, or TooManyInformational. */
  readonly response: Promise<IncomingMessage>;
}

/** Sends a request, http or https. The caller sets time limits: see {@link within}. */
export function send(url: URL, { method, headers, payload, tls, agent, signal }: Outgoing): Sent {
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
  // Listens in this very tick: an error may come in the next one, and one without a listener ends the process.
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
  });
  response.catch(() => undefined);
  request.end(payload);
  return { request, response };
}

/** Settles as `work` does; when that takes longer, aborts the request and rejects with what `late` returns. */
export function within<T>(request: ClientRequest, limitMs: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      // Rejected here, because destroying a request whose response has begun reports a mere "aborted".
      reject(late());
      request.destroy();
    }, limitMs);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

/** All bytes. @throws the result of `tooLarge` when there are more than `most`; any error of reading */
export async function readAll(chunks: AsyncIterable<Buffer>, most: number, tooLarge: () => Error): Promise<Buffer> {
  const parts: Buffer[] = [];
  if (!(await readInto(parts, chunks, most))) throw tooLarge();
  return Buffer.concat(parts);
}

/**
 * Adds chunks to `parts` until their end, or until they are more than `most` bytes: then the connection is closed.
 * Chunks received before a failure are in `parts`.
 * @returns whether the response was complete
 */
export async function readInto(parts: Buffer[], chunks: AsyncIterable<Buffer>, most: number): Promise<boolean> {
  let length = 0;
  for await (const part of chunks) {
    parts.push(part);
    length += part.length;
    // Leaving the loop closes the connection.
    if (length > most) return false;
  }
  return true;
}
