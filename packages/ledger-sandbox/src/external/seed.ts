/** Chance that depends on what it is for only, so that asking does not change what the ledger draws next. */
import { fingerprint } from '../wire/random.ts';

/** A number to seed `Random` with and a UUID, the same for the same texts. */
export function randomSeed(texts: readonly string[]): { readonly seed: number; readonly uuid: string } {
  const hex = fingerprint(JSON.stringify(texts));
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
  return { seed: Number.parseInt(hex.slice(32, 44), 16), uuid };
}
