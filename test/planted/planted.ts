/**
 * Bugs injected into the sources, one at a time, and the tests that have to fail. Most areas are those in which tests once
 * missed injected bugs: the chaos suite compares two runs of the same program, so it does not check values and rights. The
 * other areas are operations that the short chaos runs do not reach.
 */

/** One change at one position of a file, wrong in a way that an indexer could really be wrong. */
export interface PlantedDefect {
  /** The resulting bug, as a sentence. */
  readonly name: string;
  /** Below the root: `src/….ts` or `migrations/….sql`. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly line: string;
  readonly instead: string;
  /** The test file that fails, below `test/`. */
  readonly test: string;
  /** Part of the names of the tests that fail; absent: any of the file. */
  readonly only?: string;
  /** A test of the fast tier that fails too, if `test` is a slow file. */
  readonly fast?: TestSelection;
}

/** Tests of one file. */
export interface TestSelection {
  /** The test file, below `test/`. */
  readonly test: string;
  /** Part of the names of the tests; absent: all of the file. */
  readonly only?: string;
}

/** The tests of the fast tier that have to fail with the bug; undefined if none is known. */
export function fastTestsOf({ test, only, fast }: PlantedDefect): TestSelection | undefined {
  if (fast !== undefined) return fast;
  if (/\.(?:slow|long|outside)\.test\.ts$/u.test(test)) return undefined;
  return only === undefined ? { test } : { test, only };
}

export interface PlantedArea {
  /** As in `areas` of the chaos report. */
  readonly name: string;
  /** At least three, each different in kind. */
  readonly defects: readonly PlantedDefect[];
}
