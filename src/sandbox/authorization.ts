/** Bearer tokens as the participant finds them: the Authorization header, else the first offered subprotocol. */
import type { IncomingMessage } from 'node:http';

const tokenEntry = 'jwt.token.';

/** The subprotocol names the client offers, in order. */
export function offeredProtocols(request: IncomingMessage): string[] {
  const header = request.headers['sec-websocket-protocol'];
  return header === undefined ? [] : header.split(',').map((name) => name.trim());
}

/** True when no token is required or the request carries exactly the required one. */
export function authorized(request: IncomingMessage, token: string | undefined): boolean {
  if (token === undefined) return true;
  const header = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '');
  if (header !== null) return header[1] === token;
  // Like the real thing, a token entry counts only when it is the first in the list.
  const [first = ''] = offeredProtocols(request);
  return first === `${tokenEntry}${token}`;
}
