/**
 * Prints each failed test, one line per reason for skips, and `N passed, N failed, N skipped` (test cases). This is the
 * very last line of a run, after all other output, so that scripts can rely on it. Files that cannot be loaded and
 * errors outside of tests count as failed.
 */
import { readFileSync, writeSync } from 'node:fs';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

interface TestOutcome {
  passed: number;
  failed: string[];
  skipped: number;
  /** Number of skipped tests by reason. */
  reasons: Map<string, number>;
}

const beforeTests: TestOutcome = { passed: 0, failed: ['before the first test'], skipped: 0, reasons: new Map() };

/** Written by `npm run chaos -- --tier planted --tests fast`. */
interface FastFigure {
  readonly noticed: number;
  readonly of: number;
  readonly commit: string;
}

const figureFile = new URL('fast-figure.json', import.meta.url);

/** A fast test file that takes longer than this must be moved to the slow tier or made faster. */
const longestFastMs = 15_000;
/** If a run has fewer files, it is a selection of tests, and the detection rate of the tier does not apply to it. */
const minTestsOfTier = 100;

/** Exit code that a shell reports for a program ended by SIGPIPE. */
const sigpipeExitCode = 141;

export class ClosingLineReporter implements Reporter {
  #fast: readonly string[] = [];
  #outcome: TestOutcome | undefined;
  /** True if tests were selected by name. The other tests are then skipped, and these skips are not printed. */
  #chosen = false;

  onInit(vitest: Vitest): void {
    this.#chosen = vitest.config.testNamePattern !== undefined;
    // The process exits after the summary, the teardown and their messages.
    process.once('exit', () => this.#print());
    // The output was closed. Without a listener, the error would end the process before the database server is stopped.
    process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') process.exit(sigpipeExitCode);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly { message?: string }[]): void {
    const outsideErrors = unhandledErrors.map((error) => `outside tests: ${firstLine(error.message)}`);
    const outcome: TestOutcome = { passed: 0, failed: outsideErrors, skipped: 0, reasons: new Map() };
    for (const module of modules) recordOutcome(module, outcome);
    this.#outcome = outcome;
    this.#fast = fastLines(modules);
  }

  #print(): void {
    // Without an outcome, the run ended before the first test, for example because there is no database server.
    const { passed: passedCount, failed: failedTests, skipped: skippedCount, reasons } = this.#outcome ?? beforeTests;
    const lines = failedTests.map((line) => `failed: ${line}`);
    if (!this.#chosen) lines.unshift(...skippedLines(reasons));
    lines.unshift(...this.#fast);
    lines.push(`${passedCount} passed, ${failedTests.length} failed, ${skippedCount} skipped`);
    try {
      writeSync(1, `${lines.join('\n')}\n`);
    } catch (error) {
      // Other exit listeners stop the database server.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    }
  }
}

function recordOutcome(module: TestModule, outcome: TestOutcome): void {
  const failedBefore = outcome.failed.length;
  for (const test of module.children.allTests()) noteTest(test, outcome);
  if (module.state() !== 'failed' || outcome.failed.length > failedBefore) return;
  outcome.failed.push(`${module.relativeModuleId}: ${firstLine(module.errors()[0]?.message)}`);
}

function noteTest(test: TestCase, outcome: TestOutcome): void {
  const result = test.result();
  const name = `${test.module.relativeModuleId} > ${test.fullName}`;
  if (result.state === 'passed') outcome.passed++;
  else if (result.state === 'skipped') {
    const reason = result.note ?? test.meta().skipReason ?? `${name}: no reason given`;
    outcome.skipped++;
    outcome.reasons.set(reason, (outcome.reasons.get(reason) ?? 0) + 1);
  }
  // A test that is still pending was interrupted.
  else outcome.failed.push(`${name}: ${firstLine(result.errors?.[0]?.message ?? 'cut off')}`);
}

/** Lines for a run of fast tests only: the files that take too long, and the detection rate of injected bugs. */
function fastLines(modules: readonly TestModule[]): readonly string[] {
  if (modules.length < minTestsOfTier || modules.some(({ project }) => project.name !== 'fast')) return [];
  const slowestModules = modules
    .map((module) => ({ name: module.relativeModuleId, ms: module.diagnostic().duration }))
    .filter(({ ms }) => ms > longestFastMs)
    .map(({ name, ms }) => `longer than ${longestFastMs / 1000} s: ${name}: ${Math.round(ms / 1000)} s`);
  const { noticed: caughtCount, of: trialCount, commit } = JSON.parse(readFileSync(figureFile, 'utf8')) as FastFigure;
  return [...slowestModules, `fast tests detect ${caughtCount} of ${trialCount} injected bugs (measured at ${commit})`];
}

function skippedLines(reasons: ReadonlyMap<string, number>): readonly string[] {
  return [...reasons].map(([reason, count]) => `skipped: ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`);
}

function firstLine(message = 'no message'): string {
  return message.split('\n', 1)[0]!.slice(0, 300);
}
