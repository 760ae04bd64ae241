/** Order of package versions. */
import type { PackageModel } from './package-model.ts';

/** Orders by name, then by version number, then by id, so that the order is always the same. */
export function byNameAndVersion(leftPackage: PackageModel, other: PackageModel): number {
  if (leftPackage.name !== other.name) return leftPackage.name < other.name ? -1 : 1;
  const [leftNumbers, rightNumbers] = [leftPackage, other].map(({ version }) => version.split('.').map(Number)) as [
    number[],
    number[],
  ];
  for (let index = 0; index < Math.max(leftNumbers.length, rightNumbers.length); index += 1) {
    const difference = (leftNumbers[index] ?? 0) - (rightNumbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return leftPackage.packageId < other.packageId ? -1 : 1;
}
