/**
 * Names for Postgres: in snake_case and at most 63 bytes long, because Postgres truncates longer identifiers without an
 * error.
 */
import { createHash } from 'node:crypto';

/** Maximum length of an identifier in Postgres, bytes. */
export const identifierLimit = 63;

/**
 * The name if it is short enough; otherwise its beginning and six hex digits of a hash.
 * @param name ASCII only
 * @param identity input of the hash; it must always be the same for the same object, and independent of other names
 * @param limit maximum length, bytes
 */
export function shortName(name: string, identity: string, limit: number = identifierLimit): string {
  return name.length <= limit ? name : hashedName(name, identity, limit);
}

/** The beginning of the name and six hex digits of a hash; see {@link shortName}. */
export function hashedName(name: string, identity: string, limit: number): string {
  const digits = createHash('sha256').update(identity).digest('hex').slice(0, 6);
  return `${name.slice(0, limit - digits.length - 1)}_${digits}`;
}

/**
 * The name, or if it is in use, the name with a number from 2 on.
 * @param name ASCII only, at most as long as an identifier
 */
export function freeName(name: string, usedNames: ReadonlySet<string>): string {
  if (!usedNames.has(name)) return name;
  for (let number = 2; ; number += 1) {
    const suffix = `_${String(number)}`;
    const numberedName = `${name.slice(0, identifierLimit - suffix.length)}${suffix}`;
    if (!usedNames.has(numberedName)) return numberedName;
  }
}

/**
 * Converts PascalCase and camelCase to snake_case: `_` is inserted between words, and a run of capitals is one word.
 * Other characters stay.
 */
export function splitCamelCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
