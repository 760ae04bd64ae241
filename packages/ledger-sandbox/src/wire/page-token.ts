/**
 * The opaque tokens with which a reader continues where a response ended. A token belongs to one participant and one
 * request: it contains a digest of both, and a position.
 */
import { createHash } from 'node:crypto';
import type { Json } from './json.ts';

/** The digest of all values that a token is bound to. */
export function bindingOf(...tokenParts: readonly (Json | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(tokenParts)).digest('hex').slice(0, 16);
}

/** A token (Base64) that contains two numbers, e.g. an offset and a position. */
export function sealToken(binding: string, first: number, second: number): string {
  return Buffer.from(`${binding}:${first}:${second}`).toString('base64');
}

/** The numbers of a token; undefined if it is malformed or belongs to another participant or request. */
export function openToken(token: string, binding: string): readonly [number, number] | undefined {
  const [tokenBinding, first, second, ...extraParts] = Buffer.from(token, 'base64').toString().split(':');
  const numbers = [Number(first), Number(second)] as const;
  const isValid =
    tokenBinding === binding && extraParts.length === 0 && numbers.every((n) => Number.isSafeInteger(n) && n >= 0);
  return isValid ? numbers : undefined;
}
