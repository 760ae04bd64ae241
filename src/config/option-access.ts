/** Reads the options for tokens, OAuth client and certificates, and rejects combinations that exclude each other. */
import { isPlaintextRemote } from './loopback.ts';
import type { OptionSource } from './option-sources.ts';
import { options } from './option-table.ts';

/** An OAuth 2.0 client that gets its tokens with client credentials. */
export interface OAuthConfig {
  /** Exactly one of `issuer` and `tokenUrl` is set. */
  readonly issuer: string | undefined;
  readonly tokenUrl: string | undefined;
  readonly clientId: string;
  /** Exactly one of `clientSecret` and `clientKeyFile` is set. */
  readonly clientSecret: string | undefined;
  /**
   * The file that contains the secret, which is read again for every token; undefined if the secret is not in a file.
   */
  readonly clientSecretFile: string | undefined;
  /** The file with the private key that signs assertions; read again for every token. */
  readonly clientKeyFile: string | undefined;
  /** Key id of a key whose file names none. */
  readonly clientKeyId: string | undefined;
  readonly audience: string | undefined;
  /** Scopes separated by spaces; if empty, no scope is requested. */
  readonly scope: string;
  readonly caFile: string | undefined;
}

export interface AccessConfig {
  readonly token?: string | undefined;
  /** File with the token, read again for every connection. If it is set, `token` is undefined. */
  readonly tokenFile: string | undefined;
  /** If it is set, `token` and `tokenFile` are undefined. */
  readonly oauth: OAuthConfig | undefined;
  readonly tokenPlacement: 'header' | 'subprotocol' | 'both';
  /** Paths of PEM files. `certFile` and `keyFile` are either both set or both undefined. */
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Whether tokens and secrets may be sent to another machine over plain http. */
  readonly insecure: boolean;
}

/** Reads the options, and reports problems to the source. */
export function accessConfig(source: OptionSource): AccessConfig {
  const { read } = source;
  const token = read(options.ledger.token);
  const tokenFile = read(options.ledger.tokenFile);
  const oauth = oauthConfig(source);
  if (read(options.oauth.clientId) !== undefined && (token ?? tokenFile) !== undefined) {
    source.refuse(
      `${token === undefined ? 'LEDGER_TOKEN_FILE' : 'LEDGER_TOKEN'}: cannot be combined with LEDGER_OAUTH_CLIENT_ID, which obtains tokens itself`,
    );
  }
  const certFile = read(options.ledger.certFile);
  const keyFile = read(options.ledger.keyFile);
  if (certFile !== undefined && keyFile === undefined) {
    source.refuse('LEDGER_KEY_FILE: expected the private key of LEDGER_CERT_FILE, got nothing');
  }
  if (keyFile !== undefined && certFile === undefined) {
    source.refuse('LEDGER_CERT_FILE: expected the certificate of LEDGER_KEY_FILE, got nothing');
  }
  return {
    token: tokenFile === undefined ? token : undefined,
    tokenFile,
    oauth,
    tokenPlacement: read(options.ledger.tokenPlacement),
    caFile: read(options.ledger.caFile),
    certFile,
    keyFile,
    insecure: read(options.ledger.insecure),
  };
}

/** Undefined if no OAuth option is set, or if options are missing, which is reported as a problem. */
function oauthConfig(source: OptionSource): OAuthConfig | undefined {
  const { read } = source;
  const issuer = read(options.oauth.issuer);
  const tokenUrl = read(options.oauth.tokenUrl);
  const clientId = read(options.oauth.clientId);
  const clientSecret = read(options.oauth.clientSecret);
  const clientKeyFile = read(options.oauth.clientKeyFile);
  const clientKeyId = read(options.oauth.clientKeyId);
  const audience = read(options.oauth.audience);
  const caFile = read(options.oauth.caFile);
  const scope = read(options.oauth.scope).replace(/^none$/u, '');
  const credentials = [clientId, clientSecret, clientKeyFile, clientKeyId];
  if ([issuer, tokenUrl, ...credentials, audience, caFile].every((value) => value === undefined)) return undefined;
  refuseEndpoint(source, issuer, tokenUrl);
  if (clientId === undefined) source.refuse('LEDGER_OAUTH_CLIENT_ID: expected the client id, got nothing');
  refuseCredentials(source);
  if (clientId === undefined || (clientSecret ?? clientKeyFile) === undefined) return undefined;
  const clientSecretFile = source.fileOf(options.oauth.clientSecret);
  const key = { clientKeyFile, clientKeyId };
  return { issuer, tokenUrl, clientId, clientSecret, clientSecretFile, ...key, audience, scope, caFile };
}

/** A client has a secret or a key. */
function refuseCredentials(source: OptionSource): void {
  const { clientSecret, clientKeyFile, clientKeyId } = options.oauth;
  const hasSecret = source.read(clientSecret) !== undefined;
  const hasKey = source.read(clientKeyFile) !== undefined;
  if (!hasSecret && !hasKey) {
    source.refuse(
      'LEDGER_OAUTH_CLIENT_SECRET: expected it, LEDGER_OAUTH_CLIENT_SECRET_FILE or LEDGER_OAUTH_CLIENT_KEY_FILE, got nothing',
    );
  }
  if (hasSecret && hasKey) {
    const name = `LEDGER_OAUTH_CLIENT_SECRET${source.fileOf(clientSecret) === undefined ? '' : '_FILE'}`;
    source.refuse(`LEDGER_OAUTH_CLIENT_KEY_FILE: cannot be combined with ${name}; keep one of them`);
  }
  if (!hasKey && source.read(clientKeyId) !== undefined) {
    source.refuse('LEDGER_OAUTH_CLIENT_KEY_FILE: expected the key of LEDGER_OAUTH_CLIENT_KEY_ID, got nothing');
  }
}

function refuseEndpoint(source: OptionSource, issuer: string | undefined, tokenUrl: string | undefined): void {
  if (issuer === undefined && tokenUrl === undefined) {
    source.refuse('LEDGER_OAUTH_ISSUER: expected it or LEDGER_OAUTH_TOKEN_URL, got nothing');
  }
  if (issuer !== undefined && tokenUrl !== undefined) {
    source.refuse('LEDGER_OAUTH_TOKEN_URL: cannot be combined with LEDGER_OAUTH_ISSUER, which names its own endpoint');
  }
  const url = issuer ?? tokenUrl;
  if (url === undefined || source.read(options.ledger.insecure) || !isPlaintextRemote(url)) return;
  const name = issuer === undefined ? 'LEDGER_OAUTH_TOKEN_URL' : 'LEDGER_OAUTH_ISSUER';
  source.refuse(`${name}: expected https, because the client credentials are sent to ${new URL(url).host}`);
}
