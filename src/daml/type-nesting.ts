/** Where to stop in types that are made of themselves. */
import type { DamlType, TypeName } from './package-model.ts';

/** A tuple in a tuple is no recursion, so data types with parameters may stand in themselves this often. */
const genericLimit = 3;

/**
 * Whether a data type at this place repeats one around it.
 * @param around names of the data types around it
 */
export function isRepeated(type: Extract<DamlType, { kind: 'named' }>, around: readonly TypeName[]): boolean {
  const limit = type.arguments.length === 0 ? 1 : genericLimit;
  return around.filter((name) => name === type.name).length >= limit;
}
