/**
 * Access to the participant: certificates and tokens. It is opened before anything is started. So a configuration that
 * can be refused without a request is refused before the database is used.
 */
import type { LedgerConfig } from '../config/config.ts';
import type { OAuthConfig } from '../config/option-access.ts';
import type { OAuthOptions } from './access/oauth.ts';
import { readTlsFiles, type TlsMaterial } from './transport/tls.ts';
import { assertTokenConfidential, createTokenSource, type TokenSource } from './access/token.ts';

export interface LedgerAccess {
  readonly tls: TlsMaterial;
  readonly tokenSource: TokenSource;
  /** Certificate authorities of the token provider, PEM; undefined for those of the system. */
  readonly providerCa: string | undefined;
}

type OAuthConnection = Pick<OAuthOptions, 'ca' | 'insecure' | 'signal'>;

/** Loads its modules only when a provider issues the token: their packages cost CPU time at every start. */
async function openOAuth(oauth: OAuthConfig, connection: OAuthConnection): Promise<TokenSource> {
  const { createOAuthTokenSource } = await import('./access/oauth.ts');
  const { readClientKey } = await import('./access/client-key.ts');
  const { clientKeyFile, clientKeyId } = oauth;
  const clientKey = clientKeyFile === undefined ? undefined : await readClientKey(clientKeyFile, clientKeyId);
  return createOAuthTokenSource({ ...oauth, ...connection, clientKey });
}

/**
 * Reads certificates and keys and builds the token source; no token is obtained yet.
 * @param stop aborts running requests to the token provider
 * @throws IndexerError CONFIGURATION_INVALID, LEDGER_TOKEN_INSECURE (both exit 78)
 */
export async function openAccess(ledger: LedgerConfig, stop: AbortSignal): Promise<LedgerAccess> {
  const { url, token, tokenFile, oauth, insecure } = ledger;
  const kind = oauth === undefined ? (token ?? tokenFile) : 'issued';
  // Only the presence of a token matters here, not its value.
  if (url !== undefined) assertTokenConfidential(url, kind === undefined ? undefined : 'any', insecure);
  const { caFile, certFile, keyFile } = ledger;
  const { tls, oauthCa: ca } = await readTlsFiles({ caFile, certFile, keyFile, oauthCaFile: oauth?.caFile });
  const tokenSource =
    oauth === undefined
      ? createTokenSource({ token, tokenFile })
      : await openOAuth(oauth, { ca, insecure, signal: stop });
  return { tls, tokenSource, providerCa: ca };
}
