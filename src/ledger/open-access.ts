/**
 * Access to the participant: certificates and tokens. It is opened before anything is started. So a configuration that
 * can be refused without a request is refused before the database is used.
 */
import type { LedgerConfig } from '../config/config.ts';
import { readTlsFiles, type TlsMaterial } from './transport/tls.ts';
import { assertTokenMayTravel, createTokenSource, type TokenSource } from './access/token.ts';

export interface LedgerAccess {
  readonly tls: TlsMaterial;
  readonly tokenSource: TokenSource;
}

/** Loaded only if a provider issues the token, because its packages would cost CPU time at every start. */
const oauthModule = () => import('./access/oauth.ts');

/**
 * Reads the certificates and builds the token source; no token is obtained yet.
 * @param stop aborts running requests to the token provider
 * @throws IndexerError CONFIGURATION_INVALID, LEDGER_TOKEN_INSECURE (both exit 78)
 */
export async function openAccess(ledger: LedgerConfig, stop: AbortSignal): Promise<LedgerAccess> {
  const { url, token, tokenFile, oauth, insecure } = ledger;
  const kind = oauth === undefined ? (token ?? tokenFile) : 'issued';
  // Only the presence of a token matters here, not its value.
  if (url !== undefined) assertTokenMayTravel(url, kind === undefined ? undefined : 'any', insecure);
  const { caFile, certFile, keyFile } = ledger;
  const { tls, oauthCa: ca } = await readTlsFiles({ caFile, certFile, keyFile, oauthCaFile: oauth?.caFile });
  const tokenSource =
    oauth === undefined
      ? createTokenSource({ token, tokenFile })
      : (await oauthModule()).createOAuthTokenSource({ ...oauth, ca, insecure, signal: stop });
  return { tls, tokenSource };
}
