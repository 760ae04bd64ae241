/**
 * Reader tokens, which clients send over HTTP instead of a database password: `lir_` and 32 random bytes. The database
 * stores only their hashes, so a copy of the table gives no access.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Secret scanners and the log filter recognize tokens by this prefix. */
const prefix = 'lir_';

/** Why a previously valid token is rejected. If its role was dropped, the token counts as `revoked`. */
export type TokenEnd = 'expired' | 'revoked';

export interface ReaderToken {
  readonly id: string;
  /** The role whose rights and row security apply to requests with the token. */
  readonly role: string;
  /** The database login of the token, whose password is {@link loginPasswordOf}. */
  readonly login: string;
  /** Why the token is rejected; undefined if it is valid. */
  readonly ended: TokenEnd | undefined;
}

export function newToken(): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

/** Whether the text has the format of a token. Other texts are not looked up. */
export function isReaderToken(text: string): boolean {
  return /^lir_[\w-]{43}$/.test(text);
}

/**
 * The hash under which a token is stored. The duration of a lookup reveals nothing, because no one can choose a token
 * with a given hash.
 */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * The password of the token's login. It is derived from the token, so it is known only during a request that sends the
 * token.
 */
export function loginPasswordOf(token: string): string {
  return createHmac('sha256', token).update('login').digest('base64url');
}
