/** Names and versions of packages. */

/** A package in the form of lists of vetted packages. */
export interface PackageName {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

/** Compares versions number by number; negative if the left one is older. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left.split('.').map(Number), right.split('.').map(Number)];
  const rowIndex = a.findIndex((number, index) => number !== b[index]);
  if (rowIndex < 0) return a.length - b.length;
  return (a[rowIndex] ?? 0) - (b[rowIndex] ?? -1);
}
