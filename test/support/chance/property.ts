/**
 * Random tests that are repeatable. Every property and every random history has a fixed seed. `TEST_SEED` sets another
 * seed, and `TEST_RUNS` sets the number of runs. A failure contains the command that repeats it.
 */
import { relative } from 'node:path';
import * as fc from 'fast-check';
import { beforeEach, expect } from 'vitest';

/** The seed. Any number works if it is the same in every run. */
const fixedSeed = 20_261_124;
/** The default number of runs in fast-check. */
const fixedRuns = 100;

/** The seed in TEST_SEED, otherwise `fixedValue`. */
export function seedFor(fixedValue = fixedSeed): number {
  return numberIn('TEST_SEED') ?? fixedValue;
}

/** The number of runs in TEST_RUNS, otherwise `fixedCount`. */
export function runsFor(fixedCount = fixedRuns): number {
  return numberIn('TEST_RUNS') ?? fixedCount;
}

function numberIn(variable: string): number | undefined {
  const text = process.env[variable] ?? '';
  if (text === '') return undefined;
  if (!/^\d{1,10}$/.test(text)) throw new TypeError(`${variable}: expected digits, got "${text}"`);
  return Number(text);
}

/** Fails with the counterexample and the command that repeats it. @param runs number of runs unless TEST_RUNS is set */
export function expectProperty<T>(property: fc.IAsyncProperty<T>, runs?: number): Promise<void>;
export function expectProperty<T>(property: fc.IProperty<T>, runs?: number): void;
export function expectProperty<T>(
  property: fc.IAsyncProperty<T> | fc.IProperty<T>,
  runs?: number,
): Promise<void> | void {
  const parameters = { seed: seedFor(), numRuns: runsFor(runs) };
  const reportFailure = (details: fc.RunDetails<T>): void => {
    if (!details.failed) return;
    const command = repeatCommand(parameters.seed, parameters.numRuns);
    const message = `${String(fc.defaultReportMessage(details))}\nRepeat it: ${command}`;
    throw new Error(message, { cause: details.errorInstance });
  };
  const details: Promise<fc.RunDetails<T>> | fc.RunDetails<T> = fc.check(property, parameters);
  return details instanceof Promise ? details.then(reportFailure) : reportFailure(details);
}

/** Prints the command that repeats a failed test, for each test of the file. Used by tests with random histories. */
export function printRepeatCommand(seed: number, runs?: number): void {
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stdout.write(`Repeat it: ${repeatCommand(seed, runs)}\n`);
    });
  });
}

function repeatCommand(seed: number, runs: number | undefined): string {
  const { testPath = '' } = expect.getState();
  const variables = `TEST_SEED=${String(seed)}${runs === undefined ? '' : ` TEST_RUNS=${String(runs)}`}`;
  return `${variables} npx vitest run ${relative(process.cwd(), testPath)}`;
}
