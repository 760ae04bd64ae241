/**
 * Token that a client sends over HTTP instead of a database password: `lir_` and 32 random bytes. The database keeps
 * only its hash, so a copy of the table grants no access.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Known by secret scanners, and by the filter of our log. */
const prefix = 'lir_';

/** Why a previously valid token is refused. If its role was dropped, it is `revoked`. */
export type TokenEnd = 'expired' | 'revoked';

export interface ReaderToken {
  readonly id: string;
  /** Role whose rights and row security apply. */
  readonly role: string;
  /** Its login in the database, whose password is {@link loginPasswordOf}. */
  readonly login: string;
  /** Undefined: it is valid. */
  readonly ended: TokenEnd | undefined;
}

export function newToken(): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

/** Whether a text could be a token: other texts are not looked up. */
export function looksLikeToken(text: string): boolean {
  return /^lir_[\w-]{43}$/.test(text);
}

/**
 * Key of the lookup. The time of a search for a hash reveals nothing about the token: a client that can choose hashes
 * cannot choose tokens that have them.
 */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Derived from the token, so it is known only while a request with the token is handled. */
export function loginPasswordOf(token: string): string {
  return createHmac('sha256', token).update('login').digest('base64url');
}
