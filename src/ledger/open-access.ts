/**
 * Access to the participant: certificates and tokens. Opened before anything is started, so that everything that can be
 * refused without a request is refused before a database is touched.
 */
import type { LedgerConfig } from '../config/config.ts';
import { readTlsFiles, type TlsMaterial } from './transport/tls.ts';
import { assertTokenMayTravel, createTokenSource, type TokenSource } from './access/token.ts';

export interface LedgerAccess {
  readonly tls: TlsMaterial;
  readonly tokenSource: TokenSource;
}

/** Loaded only when a provider issues the token: its packages cost CPU time at every start. */
const oauthModule = () => import('./access/oauth.ts');

/**
 * Reads the certificates and builds the token source; no token is obtained yet.
 * @param stop aborts running requests to the token provider
 * @throws IndexerError CONFIGURATION_INVALID, LEDGER_TOKEN_INSECURE (both exit 78)
 */
export async function openAccess(ledger: LedgerConfig, stop: AbortSignal): Promise<LedgerAccess> {
  const { url, token, tokenFile, oauth, insecure } = ledger;
  const kind = oauth === undefined ? (token ?? tokenFile) : 'issued';
  // The token itself does not matter: only whether there is one.
  if (url !== undefined) assertTokenMayTravel(url, kind === undefined ? undefined : 'any', insecure);
  const { caFile, certFile, keyFile } = ledger;
  const { tls, oauthCa: ca } = await readTlsFiles({ caFile, certFile, keyFile, oauthCaFile: oauth?.caFile });
  const tokenSource =
    oauth === undefined
      ? createTokenSource({ token, tokenFile })
      : (await oauthModule()).createOAuthTokenSource({ ...oauth, ca, insecure, signal: stop });
  return { tls, tokenSource };
}
