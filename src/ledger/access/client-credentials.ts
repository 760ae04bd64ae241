/** Reads the credentials of the OAuth client again, so that a new secret or key can be used without a restart. */
import type { ClientCredentials } from './client-authentication.ts';
import { type ClientKey, readClientKey } from './client-key.ts';
import { readTokenFile } from './token.ts';

/**
 * Exactly one of `clientSecret` and `clientKey` is set. The files are read again for every token. While a file is
 * missing or not usable, the last secret or key is used.
 */
export interface CredentialOptions {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly clientSecretFile?: string | undefined;
  /** The key as read at the start. */
  readonly clientKey?: ClientKey | undefined;
  readonly clientKeyFile?: string | undefined;
  /** This key id is sent if the file contains no `kid`. */
  readonly clientKeyId?: string | undefined;
}

/** The syntax of a secret in RFC 6749, appendix A.2. The configuration requires the same syntax. */
const secretPattern = /^[\x20-\x7e]+$/u;

/** The credentials at the start. */
export function firstCredentials({ clientId: id, clientKey, clientSecret = '' }: CredentialOptions): ClientCredentials {
  return clientKey === undefined ? { id, secret: clientSecret } : { id, key: clientKey };
}

/**
 * The credentials in the file. Returns the current object if they are the same, or if the file is missing or not
 * usable.
 */
export async function reloadCredentials(
  current: ClientCredentials,
  { clientSecretFile, clientKeyFile, clientKeyId }: CredentialOptions,
): Promise<ClientCredentials> {
  if ('key' in current) {
    if (clientKeyFile === undefined) return current;
    const key = await readClientKey(clientKeyFile, clientKeyId).catch(() => current.key);
    return key.version === current.key.version ? current : { ...current, key };
  }
  if (clientSecretFile === undefined) return current;
  const { token: secret = '' } = await readTokenFile(clientSecretFile);
  return !secretPattern.test(secret) || secret === current.secret ? current : { ...current, secret };
}
