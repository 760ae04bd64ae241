/** Answers of a body that is complete. None is kept by anybody, and none is taken for another type than it says. */
import type { ServerResponse } from 'node:http';
import { scrub } from '../figures/scrub.ts';

const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

export function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(body);
}

/** Without tokens and passwords, which messages of the participant and of servers may have in them. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, 'application/json; charset=utf-8', `${scrub(JSON.stringify(body))}\n`);
}

/** The connection ends with it: what else the client sends is not read. @param more facts beside the reason */
export function refuse(
  response: ServerResponse,
  status: number,
  error: string,
  more: Readonly<Record<string, unknown>> = {},
): void {
  response.setHeader('connection', 'close');
  sendJson(response, status, { error, ...more });
}

/** Refuses who asks, not what is asked: with 401 it is told what to show. */
export function refuseAsker(response: ServerResponse, status: number, error: string): void {
  if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="ledger-indexer"');
  refuse(response, status, error);
}
