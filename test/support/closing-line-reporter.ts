/**
 * Prints each failed test, one line per reason for skips, and `N passed, N failed, N skipped` (test cases) as the very
 * last line of a run, whatever else is printed, so that scripts can rely on it. Files that cannot be loaded and errors
 * outside tests count as failed.
 */
import { writeSync } from 'node:fs';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

interface Outcome {
  passed: number;
  failed: string[];
  skipped: number;
  /** Skipped tests by reason. */
  reasons: Map<string, number>;
}

const beforeTests: Outcome = { passed: 0, failed: ['before the first test'], skipped: 0, reasons: new Map() };

export class ClosingLineReporter implements Reporter {
  #outcome: Outcome | undefined;
  /** By name: then nobody wants the names of all others. */
  #chosen = false;

  onInit(vitest: Vitest): void {
    this.#chosen = vitest.config.testNamePattern !== undefined;
    // The end of the process comes after the summary, the teardown and their messages.
    process.once('exit', () => this.#print());
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly { message?: string }[]): void {
    const outside = unhandledErrors.map((error) => `outside tests: ${firstLine(error.message)}`);
    const outcome: Outcome = { passed: 0, failed: outside, skipped: 0, reasons: new Map() };
    for (const module of modules) note(module, outcome);
    this.#outcome = outcome;
  }

  #print(): void {
    // No outcome: the run ended before the first test, e.g. because there is no database server.
    const { passed, failed, skipped, reasons } = this.#outcome ?? beforeTests;
    const lines = failed.map((line) => `failed: ${line}`);
    if (!this.#chosen) lines.unshift(...skippedLines(reasons));
    lines.push(`${passed} passed, ${failed.length} failed, ${skipped} skipped`);
    writeSync(1, `${lines.join('\n')}\n`);
  }
}

function note(module: TestModule, outcome: Outcome): void {
  const failedBefore = outcome.failed.length;
  for (const test of module.children.allTests()) noteTest(test, outcome);
  if (module.state() !== 'failed' || outcome.failed.length > failedBefore) return;
  outcome.failed.push(`${module.relativeModuleId}: ${firstLine(module.errors()[0]?.message)}`);
}

function noteTest(test: TestCase, outcome: Outcome): void {
  const result = test.result();
  const name = `${test.module.relativeModuleId} > ${test.fullName}`;
  if (result.state === 'passed') outcome.passed++;
  else if (result.state === 'skipped') {
    const reason = result.note ?? test.meta().skipReason ?? `${name}: no reason given`;
    outcome.skipped++;
    outcome.reasons.set(reason, (outcome.reasons.get(reason) ?? 0) + 1);
  }
  // A test that is still pending was cut off.
  else outcome.failed.push(`${name}: ${firstLine(result.errors?.[0]?.message ?? 'cut off')}`);
}

function skippedLines(reasons: ReadonlyMap<string, number>): readonly string[] {
  return [...reasons].map(([reason, count]) => `skipped: ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`);
}

function firstLine(message = 'no message'): string {
  return message.split('\n', 1)[0]!.slice(0, 300);
}
