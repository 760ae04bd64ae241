/**
 * One HTTP exchange with a token provider, in the form the OAuth library asks for. Its own, because the built-in fetch
 * takes no certificate authority, follows redirects with the secret, and reads answers of any size.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import { travelsInClear } from '../../loopback.ts';
import { ledgerError } from '../errors/ledger-error-codes.ts';

/** Metadata and tokens are a few kilobytes; more is not an answer of a provider. */
const maxAnswerBytes = 1024 * 1024;
const withoutBody = new Set([204, 205, 304]);

export interface ProviderConnection {
  /** PEM of the issuer to trust instead of the system's. */
  readonly ca: string | undefined;
  /** Allow plain http to another machine. */
  readonly insecure: boolean;
  /** Aborts running requests. */
  readonly signal: AbortSignal | undefined;
}

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`an answer of more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function toResponse(incoming: IncomingMessage): Promise<Response> {
  const body = await bodyOf(incoming);
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return new Response(withoutBody.has(status) ? null : new Uint8Array(body), { status, headers });
}

/** What the library sends is a form or nothing. */
function textOf(body: CustomFetchOptions['body']): string | undefined {
  if (body instanceof URLSearchParams) return body.toString();
  return typeof body === 'string' ? body : undefined;
}

/** @throws IndexerError LEDGER_TOKEN_INSECURE; anything else is a network error as Node reports it */
export function createProviderFetch(connection: ProviderConnection): CustomFetch {
  return async (url, options) => {
    if (!connection.insecure && travelsInClear(url)) {
      const { host } = new URL(url);
      throw ledgerError('LEDGER_TOKEN_INSECURE', `will not send the client secret in clear text to ${host}`);
    }
    const signals = [options.signal, connection.signal].filter((signal) => signal !== undefined);
    return exchange(url, options, AbortSignal.any(signals), connection.ca);
  };
}

function exchange(url: string, options: CustomFetchOptions, signal: AbortSignal, ca?: string): Promise<Response> {
  const { method } = options;
  const payload = textOf(options.body);
  const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) };
  const headers = { ...options.headers, ...length };
  return new Promise<Response>((resolve, reject) => {
    const secure = url.startsWith('https:');
    const open = secure ? httpsRequest : httpRequest;
    // No agent: a connection kept for a request in some minutes is usually dead by then.
    const request = open(url, { method, headers, agent: false, ...(secure && ca !== undefined ? { ca } : {}) });
    const abort = (): void => {
      reject(signal.reason as Error);
      request.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    request.on('error', reject);
    request.on('response', (response) => {
      toResponse(response).then(resolve, reject);
    });
    request.on('close', () => {
      signal.removeEventListener('abort', abort);
    });
    if (signal.aborted) abort();
    request.end(payload);
  });
}
