/** A part of the public interface as names with descriptions, and the comparison with a recorded one. */

/**
 * Names on which users may depend, with descriptions. A name that is missing in a later version is a removal, another description is a
 * change, and further names are additions. Lists are split into one name per element, so that a longer list is an
 * addition.
 */
export type Surface = Readonly<Record<string, string>>;

export interface InterfaceRecord {
  /** The version of the project whose interface is recorded. */
  readonly version: string;
  readonly surfaces: Readonly<Record<string, Surface>>;
}

/** Differences that need another major version, one line each. */
export function breakingDifferences(recorded: Surface, current: Surface): readonly string[] {
  return Object.entries(recorded).flatMap(([name, description]) => {
    const found = current[name];
    if (found === undefined) return [`removed: ${name}`];
    return found === description ? [] : [`changed: ${name}: was "${description}", is "${found}"`];
  });
}

/** A surface from pairs, in the order of the names. @throws Error if a name has two descriptions */
export function surfaceOf(pairs: Iterable<readonly [name: string, description: string]>): Surface {
  const descriptions = new Map<string, string>();
  for (const [name, description] of pairs) {
    const known = descriptions.get(name);
    if (known !== undefined && known !== description)
      throw new Error(`${name} is described as "${known}" and as "${description}"`);
    descriptions.set(name, description);
  }
  return Object.fromEntries([...descriptions].toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
