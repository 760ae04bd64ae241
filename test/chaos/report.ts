/**
 * Results of a run of the suite: counts, failures with the command that repeats each, a table for people and JSON for
 * machines.
 */
import { writeFileSync } from 'node:fs';

/** An unexpected result of a run. */
export interface Failure {
  readonly tier: string;
  /** The command that repeats the run. */
  readonly replay: string;
  readonly found: readonly string[];
}

/** Number of bugs injected into one area of the sources. */
interface AreaCounts {
  readonly planted: number;
  /** How many of them made a test fail. */
  readonly caught: number;
}

export class Report {
  seeds = 0;
  faults = 0;
  sigkills = 0;
  crashPoints = 0;
  crashPointsEqual = 0;
  mutants = 0;
  mutantsCaught = 0;
  causes = 0;
  causesNamed = 0;
  lost = 0;
  duplicated = 0;
  altered = 0;
  readonly failures: Failure[] = [];
  readonly hits = new Map<string, number>();
  readonly #areas = new Map<string, AreaCounts>();
  readonly #started = performance.now();
  readonly #bail: boolean;

  /** @param stopsOnFailure whether the first failure ends the process */
  constructor(stopsOnFailure = false) {
    this.#bail = stopsOnFailure;
  }

  /** Adds a kind of fault to the report, even if it never happens. */
  expect(kind: string): void {
    if (!this.hits.has(kind)) this.hits.set(kind, 0);
  }

  /** Counts a fault that happened. */
  hit(kind: string): void {
    this.faults += 1;
    this.hits.set(kind, (this.hits.get(kind) ?? 0) + 1);
  }

  /** Counts a bug that was injected into an area. */
  planted(area: string, wasCaught: boolean): void {
    const { planted: plantedCount, caught: caughtCount } = this.#areas.get(area) ?? { planted: 0, caught: 0 };
    this.#areas.set(area, { planted: plantedCount + 1, caught: caughtCount + (wasCaught ? 1 : 0) });
  }

  fail(failure: Failure): void {
    this.failures.push(failure);
    process.stdout.write(
      `FAILED ${failure.tier}: ${failure.found.join('; ').slice(0, 2_000)}\n  again: ${failure.replay}\n`,
    );
    // A signal instead of an exit, so that the servers are stopped.
    if (this.#bail && this.failures.length === 1) process.kill(process.pid, 'SIGTERM');
  }

  /** Kinds of faults that happened fewer than `minimum` times. Bugs that only they reveal may be undetected. */
  missed(minimum: number): readonly string[] {
    return [...this.hits].filter(([, count]) => count < minimum).map(([kind, count]) => `${kind} (${String(count)})`);
  }

  /** The progress in one line. */
  progress(): string {
    const { seeds, faults, failures, seconds } = this.figures();
    const pointSummary = `${String(this.crashPointsEqual)} of ${String(this.crashPoints)} crash points equal`;
    const areas = [...this.#areas.values()];
    const plantedSummary = `${sumOf(areas, 'caught')} of ${sumOf(areas, 'planted')} bugs detected`;
    return `  ${String(seconds)} s: ${pointSummary}, ${String(seeds)} seeds, ${String(faults)} faults, ${plantedSummary}, ${String(failures)} failures`;
  }

  figures(): Readonly<Record<string, number | readonly string[]>> {
    return {
      seeds: this.seeds,
      faults: this.faults,
      sigkills: this.sigkills,
      crash_points: this.crashPoints,
      crash_points_equal: this.crashPointsEqual,
      fault_kinds: this.hits.size,
      fault_kinds_hit5: [...this.hits.values()].filter((count) => count >= 5).length,
      mutants: this.mutants,
      mutants_caught: this.mutantsCaught,
      causes: this.causes,
      causes_named: this.causesNamed,
      lost: this.lost,
      duplicated: this.duplicated,
      altered: this.altered,
      failures: this.failures.length,
      seconds: Math.round((performance.now() - this.#started) / 100) / 10,
    };
  }

  /** Prints kinds and counts in columns, then the totals. */
  print(): void {
    const rows = [...this.hits]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, count]) => [kind, String(count)] as const);
    const kindWidth = Math.max(0, ...rows.map(([kind]) => kind.length));
    const lines = rows.map(([kind, count]) => `  ${kind.padEnd(kindWidth)} ${count.padStart(6)}`);
    const figures = Object.entries(this.figures()).map(
      ([name, value]) => `  ${name.padEnd(18)} ${String(value).padStart(8)}`,
    );
    const areas = [...this.#areas].map(
      ([name, { planted: plantedCount, caught: caughtCount }]) =>
        `  ${name.padEnd(18)} ${`${String(caughtCount)} of ${String(plantedCount)}`.padStart(8)}`,
    );
    if (areas.length > 0) areas.unshift('injected bugs detected, by area');
    process.stdout.write(['faults hit, by kind', ...lines, ...areas, 'figures', ...figures, ''].join('\n'));
  }

  writeJson(file: string): void {
    const areas = [...this.#areas].map(([name, area]) => ({ name, ...area }));
    const reportData = { ...this.figures(), areas, hits: Object.fromEntries(this.hits) };
    writeFileSync(file, `${JSON.stringify(reportData, null, 2)}\n`);
  }
}

function sumOf(areas: readonly AreaCounts[], figure: keyof AreaCounts): string {
  return String(areas.reduce((sum, area) => sum + area[figure], 0));
}
