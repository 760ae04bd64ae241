/** Names for Postgres: in snake_case, and not longer than the 63 bytes after which it silently cuts identifiers off. */
import { createHash } from 'node:crypto';

/** Most bytes of an identifier in Postgres. */
export const identifierLimit = 63;

/**
 * The name when it fits; else its beginning and six hex digits of a hash.
 * @param name ASCII only
 * @param identity what the hash is made of: the same for the same thing, whatever else there is
 * @param limit most bytes
 */
export function shortName(name: string, identity: string, limit: number = identifierLimit): string {
  return name.length <= limit ? name : hashedName(name, identity, limit);
}

/** The beginning of the name and six hex digits of a hash; as {@link shortName}. */
export function hashedName(name: string, identity: string, limit: number): string {
  const digits = createHash('sha256').update(identity).digest('hex').slice(0, 6);
  return `${name.slice(0, limit - digits.length - 1)}_${digits}`;
}

/** The name, numbered from 2 on where it is taken. @param name ASCII only, at most as long as an identifier */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) {
    const suffix = `_${String(number)}`;
    const numbered = `${name.slice(0, identifierLimit - suffix.length)}${suffix}`;
    if (!taken.has(numbered)) return numbered;
  }
}

/** PascalCase and camelCase to snake_case: `_` at the humps, a run of capitals is one word. What else there is stays. */
export function withoutHumps(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
