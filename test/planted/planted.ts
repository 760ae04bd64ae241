/**
 * Bugs that are injected into the sources one at a time, and the tests that must fail. The chaos suite misses bugs in
 * values and rights, because it compares two runs of the same program. Most areas contain such bugs. The other areas
 * are operations that the short chaos runs do not cover.
 */

/** One change at one position of a file: a bug that an indexer could plausibly have. */
export interface PlantedDefect {
  /** The resulting bug, as a sentence. */
  readonly name: string;
  /** Path below the root: `src/….ts` or `migrations/….sql`. */
  readonly file: string;
  /** The original text, which occurs once in the file. */
  readonly line: string;
  readonly instead: string;
  /** The test file that fails, below `test/`. */
  readonly test: string;
  /** Part of the names of the failing tests; absent if any test of the file may fail. */
  readonly only?: string;
  /** A test of the fast tier that also fails, if `test` is a slow file. */
  readonly fast?: TestSelection;
}

/** Tests of one file. */
export interface TestSelection {
  /** The test file, below `test/`. */
  readonly test: string;
  /** Part of the names of the tests; absent for all tests of the file. */
  readonly only?: string;
}

/** The tests of the fast tier that must fail with the bug; undefined if none is known. */
export function fastTestsOf({ test, only: testName, fast: fastTests }: PlantedDefect): TestSelection | undefined {
  if (fastTests !== undefined) return fastTests;
  if (/\.(?:slow|long|outside)\.test\.ts$/u.test(test)) return undefined;
  return testName === undefined ? { test } : { test, only: testName };
}

export interface PlantedArea {
  /** Name of the area in `areas` of the chaos report. */
  readonly name: string;
  /** At least three bugs, each of a different kind. */
  readonly defects: readonly PlantedDefect[];
}
