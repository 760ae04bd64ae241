/**
 * Functions that send complete HTTP responses. Responses must not be cached. With `nosniff`, browsers treat each
 * response as its declared media type.
 */
import type { ServerResponse } from 'node:http';
import { scrub } from '../figures/scrub.ts';

const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

export function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(body);
}

/**
 * Sends JSON. Tokens and passwords are scrubbed, because messages of the participant and of servers may contain them.
 */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, 'application/json; charset=utf-8', `${scrub(JSON.stringify(body))}\n`);
}

/**
 * Refuses a request and closes the connection. No further data of the client is read.
 * @param extraFields fields in addition to the error
 */
export function sendError(
  response: ServerResponse,
  status: number,
  error: string,
  extraFields: Readonly<Record<string, unknown>> = {},
): void {
  response.setHeader('connection', 'close');
  sendJson(response, status, { error, ...extraFields });
}

/** Refuses the caller of a request. A 401 names the authentication scheme. */
export function sendCallerError(response: ServerResponse, status: number, error: string): void {
  if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="ledger-indexer"');
  sendError(response, status, error);
}
