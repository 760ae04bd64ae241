/**
 * Defects planted in the sources, one at a time, and the tests that have to notice them. Most areas are those in which an
 * outsider's defects once went unseen: the campaign compares a run with another run of the same program, so values and rights are
 * not its matter. The others are operations, which the short campaigns do not come by.
 */

/** One change of one place, wrong in a way that an indexer could really be wrong. */
export interface PlantedDefect {
  /** What is wrong then, as a sentence. */
  readonly name: string;
  /** Below the root: `src/….ts` or `migrations/….sql`. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly line: string;
  readonly instead: string;
  /** The test file that notices, below `test/`. */
  readonly test: string;
  /** Part of the names of the tests that notice; absent: any of the file. */
  readonly only?: string;
  /** A test of the fast tier that notices too, where `test` is a slow file. */
  readonly fast?: TestSelection;
}

/** Tests of one file. */
export interface TestSelection {
  /** The test file, below `test/`. */
  readonly test: string;
  /** Part of the names of the tests; absent: all of the file. */
  readonly only?: string;
}

/** The tests of the fast tier that have to notice the defect; undefined if none is known. */
export function fastTestsOf({ test, only, fast }: PlantedDefect): TestSelection | undefined {
  if (fast !== undefined) return fast;
  if (/\.(?:slow|long|outside)\.test\.ts$/u.test(test)) return undefined;
  return only === undefined ? { test } : { test, only };
}

export interface PlantedArea {
  /** As `areas` of the campaign's report name it. */
  readonly name: string;
  /** At least three, each different in kind. */
  readonly defects: readonly PlantedDefect[];
}
