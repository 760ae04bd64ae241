/**
 * Prints `N passed, N failed, N skipped` (test cases) as the very last line of a run, whatever else is printed, so that
 * scripts can rely on it. Files that cannot be loaded and errors outside tests count as failed.
 */
import { writeSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export class ClosingLineReporter implements Reporter {
  #counts: Counts | undefined;

  onInit(): void {
    // The end of the process comes after the summary, the teardown and their messages.
    process.once('exit', () => this.#print());
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts: Counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) count(module, counts);
    this.#counts = counts;
  }

  #print(): void {
    // No counts: the run ended before the first test, e.g. because there is no database server.
    const { passed, failed, skipped } = this.#counts ?? { passed: 0, failed: 1, skipped: 0 };
    writeSync(1, `${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}

function count(module: TestModule, counts: Counts): void {
  const failedBefore = counts.failed;
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    // A test that is still pending was cut off.
    counts[state === 'pending' ? 'failed' : state]++;
  }
  if (module.state() === 'failed' && counts.failed === failedBefore) counts.failed++;
}
