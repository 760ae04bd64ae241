/** Where the token travels when a WebSocket is opened. */

/** Participants take it from the header first, then from the subprotocols; proxies sometimes drop one of them. */
export type TokenPlacement = 'header' | 'subprotocol' | 'both';

interface Handshake {
  readonly token: string | undefined;
  /** `both` unless given. */
  readonly tokenPlacement?: TokenPlacement | undefined;
}

/**
 * The subprotocols to offer. The fixed names are always there, because the ledger always answers with one of them; the
 * token comes first, because a server that does not trim the list finds it nowhere else.
 */
export function subprotocols({ token, tokenPlacement }: Handshake): string[] {
  const names = ['daml.ws.auth', 'ledger.ws.auth'];
  return token === undefined || tokenPlacement === 'header' ? names : [`jwt.token.${token}`, ...names];
}

/** The header with the token, or none. */
export function handshakeHeaders({ token, tokenPlacement }: Handshake): Record<string, string> {
  return token === undefined || tokenPlacement === 'subprotocol' ? {} : { authorization: `Bearer ${token}` };
}
