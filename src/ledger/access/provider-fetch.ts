/**
 * One HTTP exchange with a token provider, in the form that the OAuth library requires. The built-in fetch is not used
 * because it accepts no certificate authority, follows redirects with the secret, and reads responses of any size.
 */
import type { IncomingMessage } from 'node:http';
import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import { isPlaintextRemote } from '../../config/loopback.ts';
import { readBody, send } from '../../http/exchange.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';
import { isObject } from '../frames/field.ts';

/** Metadata and tokens have a few kilobytes. A larger response cannot be from a provider. */
const maxResponseBytes = 1024 * 1024;
const bodylessStatuses: ReadonlySet<number> = new Set([204, 205, 304]);

export interface ProviderConnection {
  /** Certificate authority that is trusted instead of the authorities of the system, PEM. */
  readonly ca: string | undefined;
  /** Allows plain http to another machine. */
  readonly insecure: boolean;
  /** Aborts running requests. */
  readonly signal: AbortSignal | undefined;
}

async function toResponse(incoming: IncomingMessage): Promise<Response> {
  const tooLargeError = (): Error => new Error(`a response of more than ${maxResponseBytes} bytes`);
  const body = await readBody(incoming as AsyncIterable<Buffer>, maxResponseBytes, tooLargeError);
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return new Response(hasBody(status) ? new Uint8Array(body) : null, { status, headers });
}

function hasBody(status: number): boolean {
  return !bodylessStatuses.has(status);
}

/** The body as text; the library sends a form or no body. */
function textOf(body: CustomFetchOptions['body']): string | undefined {
  if (body instanceof URLSearchParams) return body.toString();
  return typeof body === 'string' ? body : undefined;
}

/** @throws IndexerError LEDGER_TOKEN_INSECURE; any other error is a network error as Node reports it */
export function createProviderFetch(connection: ProviderConnection): CustomFetch {
  return async (url, options) => {
    if (!connection.insecure && isPlaintextRemote(url)) {
      const { host } = new URL(url);
      throw ledgerError('LEDGER_TOKEN_INSECURE', `will not send the client credentials in clear text to ${host}`);
    }
    const signals = [options.signal, connection.signal].filter((signal) => signal !== undefined);
    const response = await exchange(url, options, AbortSignal.any(signals), connection.ca);
    return options.method === 'POST' ? await normalizeTokenResponse(response) : response;
  };
}

async function exchange(url: string, options: CustomFetchOptions, signal: AbortSignal, ca?: string): Promise<Response> {
  const { method, headers, body } = options;
  // No agent is used, because an idle connection would usually be closed before the next request some minutes later.
  const outgoingRequest = { method, headers, payload: textOf(body), agent: false, tls: { ca }, signal } as const;
  try {
    signal.throwIfAborted();
    return await toResponse(await send(new URL(url), outgoingRequest).response);
  } catch (thrown) {
    // The library inspects the reason for the abort.
    throw signal.aborted ? signal.reason : thrown;
  }
}

/**
 * The response of a token endpoint, reduced to the fields of RFC 6749 that the indexer uses. The library checks all
 * other fields too: an empty `refresh_token` or an id token would make it reject the access token.
 */
async function normalizeTokenResponse(response: Response): Promise<Response> {
  const { status } = response;
  const headers = new Headers(response.headers);
  // A challenge in this header would hide the error in the body.
  headers.delete('www-authenticate');
  const text = await response.text();
  const responseBody = parsedObject(text);
  if (responseBody === undefined && status !== 401)
    return new Response(hasBody(status) ? text : null, { status, headers });
  headers.set('content-type', 'application/json');
  const error = errorIn(responseBody ?? {}, status);
  const body = error ?? tokenIn(responseBody ?? {});
  // Some providers report errors with status 200.
  return Response.json(body, { status: error !== undefined && status < 400 ? 400 : status, headers });
}

function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds the error under the field names of RFC 6749 §5.2 or of Okta. A 401 without an error means that the client was
 * refused.
 */
function errorIn(responseBody: Readonly<Record<string, unknown>>, status: number): Record<string, unknown> | undefined {
  const error = responseBody['error'] ?? responseBody['errorCode'];
  const isError = typeof error === 'string' && error !== '';
  if (!isError && status !== 401) return undefined;
  if (typeof responseBody['access_token'] === 'string' && status < 400) return undefined;
  const description = responseBody['error_description'] ?? responseBody['errorSummary'];
  return {
    error: isError ? error : 'invalid_client',
    ...(typeof description === 'string' ? { error_description: description } : {}),
  };
}

/**
 * The token with a type and a numeric lifetime. If the type is missing, the only type in use is added. A lifetime that
 * is not a number is omitted.
 */
function tokenIn(responseBody: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { access_token, token_type, expires_in } = responseBody;
  const seconds = typeof expires_in === 'string' ? Number.parseFloat(expires_in) : expires_in;
  const isLifetime = typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0;
  return { access_token, token_type: token_type ?? 'Bearer', ...(isLifetime ? { expires_in: seconds } : {}) };
}
