/**
 * One HTTP request to the server of a bucket. Redirects are not followed, because the signature is only valid for one
 * server.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limitInformational } from './informational.ts';

export interface BucketRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Readable | Uint8Array | undefined;
  /** Time limit until the response begins, and for later pauses of the connection, milliseconds. */
  readonly limitMs: number;
}

/** Resolves to the response when it begins. Rejects if the server does not respond, or sends only informational responses. */
export async function sendToBucket({ method, url, headers, body, limitMs }: BucketRequest): Promise<Response> {
  const sendRequest = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = sendRequest(url, { method, headers: Object.fromEntries(headers), timeout: limitMs });
  limitInformational(request);
  const onTimeout = (): void => void request.destroy(new Error(`no answer within ${String(limitMs / 1000)} s`));
  const timer = setTimeout(onTimeout, limitMs);
  try {
    return await new Promise<Response>((resolve, reject) => {
      request.on('timeout', onTimeout).on('error', reject);
      request.on('response', (message) => {
        try {
          resolve(responseOf(message));
        } catch (error) {
          message.destroy();
          reject(error);
        }
      });
      if (!(body instanceof Readable)) request.end(body);
      // If the server responds before it has read the complete body, its response is used.
      else pipeline(body, request).catch(reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Statuses of responses without a body. */
const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(message: IncomingMessage): Response {
  const { statusCode: status = 0, rawHeaders } = message;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  if (!bodilessStatuses.has(status))
    return new Response(Readable.toWeb(message) as ReadableStream<Uint8Array>, { status, headers });
  message.resume();
  return new Response(null, { status, headers });
}
