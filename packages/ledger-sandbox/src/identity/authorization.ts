/**
 * Reads bearer tokens as the participant does, from the Authorization header, otherwise from the first offered
 * subprotocol. Also defines the port that resolves them to callers.
 */
import type { IncomingMessage } from 'node:http';
import { anonymousCaller } from './caller.ts';
import type { Caller } from './caller.ts';
import { UndecodableRequest } from '../wire/failure.ts';
import { isFrom } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';

const tokenEntry = 'jwt.token.';

/**
 * Resolves a token to its user. Undefined if it is not authenticated (missing, malformed, expired, wrong signature),
 * which does not fail a WebSocket handshake. A LedgerFailure if the user cannot be resolved, which fails the handshake.
 */
export type Authenticate = (token: string | undefined) => Promise<Caller | undefined>;

/** The subprotocol names that the client offers, in order. */
export function offeredProtocols(request: IncomingMessage): string[] {
  const header = request.headers['sec-websocket-protocol'];
  return header === undefined ? [] : header.split(',').map((name) => name.trim());
}

/**
 * The token of a request. Before 3.6 a subprotocol counts only if it is the first, because the participant does not
 * trim the others. Throws Undecodable for a header that is not a bearer token.
 */
export function tokenOf(request: IncomingMessage, release: Release): string | undefined {
  const { authorization } = request.headers;
  const header = /^Bearer (.+)$/i.exec(authorization ?? '');
  if (header !== null) return header[1];
  if (authorization !== undefined) throw new UndecodableRequest('header Authorization');
  const offeredNames = offeredProtocols(request).slice(0, isFrom(release, '3.6') ? undefined : 1);
  return offeredNames.find((name) => name.startsWith(tokenEntry))?.slice(tokenEntry.length);
}

/** No authorization: every caller may do everything, and tokens are ignored. */
export const openAuthentication: Authenticate = () => Promise.resolve(anonymousCaller);

/** Accepts one token, which may do everything, and no other. */
export function requireToken(expected: string): Authenticate {
  return (token) => Promise.resolve(token === expected ? anonymousCaller : undefined);
}
