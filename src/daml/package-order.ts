/** Order of package versions. */
import type { PackageModel } from './package-model.ts';

/** Orders by name, then by version number, then by id, so that the order is always the same. */
export function byNameAndVersion(one: PackageModel, other: PackageModel): number {
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  const [left, right] = [one, other].map(({ version }) => version.split('.').map(Number)) as [number[], number[]];
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return one.packageId < other.packageId ? -1 : 1;
}
