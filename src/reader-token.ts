/**
 * What a reader shows over HTTP instead of a password of the database: `lir_` and 32 random bytes. The database keeps its hash, so a
 * copy of the table opens nothing.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Known by scanners of secrets, and by the filter of our log. */
const prefix = 'lir_';

/** Why a token that was good is refused. Of a role that is gone it is `revoked`: somebody took it. */
export type TokenEnd = 'expired' | 'revoked';

export interface ReaderToken {
  readonly id: string;
  /** Role whose rights and row security hold. */
  readonly role: string;
  /** Its login in the database, whose password is {@link loginPasswordOf}. */
  readonly login: string;
  /** Undefined: it is good. */
  readonly ended: TokenEnd | undefined;
}

export function newToken(): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

/** Whether a text could be one: nothing else is looked for. */
export function looksLikeToken(text: string): boolean {
  return /^lir_[\w-]{43}$/.test(text);
}

/** Under which it is found. What a search for a hash takes says nothing about the token: who can choose hashes cannot choose what has them. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Made of the token, so it is known while a request that shows the token is answered, and at no other time. */
export function loginPasswordOf(token: string): string {
  return createHmac('sha256', token).update('login').digest('base64url');
}
