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
interface Area {
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
  readonly #areas = new Map<string, Area>();
  readonly #started = performance.now();
  readonly #bail: boolean;

  /** @param bail whether the first failure ends the process */
  constructor(bail = false) {
    this.#bail = bail;
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
    const { planted, caught } = this.#areas.get(area) ?? { planted: 0, caught: 0 };
    this.#areas.set(area, { planted: planted + 1, caught: caught + (wasCaught ? 1 : 0) });
  }

  fail(failure: Failure): void {
    this.failures.push(failure);
    process.stdout.write(
      `FAILED ${failure.tier}: ${failure.found.join('; ').slice(0, 2_000)}\n  again: ${failure.replay}\n`,
    );
    // A signal instead of an exit, so that the servers are stopped.
    if (this.#bail && this.failures.length === 1) process.kill(process.pid, 'SIGTERM');
  }

  /** Kinds of faults that happened fewer than `least` times. Bugs that only they reveal may be undetected. */
  missed(least: number): readonly string[] {
    return [...this.hits].filter(([, count]) => count < least).map(([kind, count]) => `${kind} (${String(count)})`);
  }

  /** The progress in one line. */
  progress(): string {
    const { seeds, faults, failures, seconds } = this.figures();
    const points = `${String(this.crashPointsEqual)} of ${String(this.crashPoints)} crash points equal`;
    const areas = [...this.#areas.values()];
    const planted = `${sumOf(areas, 'caught')} of ${sumOf(areas, 'planted')} bugs detected`;
    return `  ${String(seconds)} s: ${points}, ${String(seeds)} seeds, ${String(faults)} faults, ${planted}, ${String(failures)} failures`;
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
    const wide = Math.max(0, ...rows.map(([kind]) => kind.length));
    const lines = rows.map(([kind, count]) => `  ${kind.padEnd(wide)} ${count.padStart(6)}`);
    const figures = Object.entries(this.figures()).map(
      ([name, value]) => `  ${name.padEnd(18)} ${String(value).padStart(8)}`,
    );
    const areas = [...this.#areas].map(
      ([name, { planted, caught }]) => `  ${name.padEnd(18)} ${`${String(caught)} of ${String(planted)}`.padStart(8)}`,
    );
    if (areas.length > 0) areas.unshift('injected bugs detected, by area');
    process.stdout.write(['faults hit, by kind', ...lines, ...areas, 'figures', ...figures, ''].join('\n'));
  }

  writeJson(file: string): void {
    const areas = [...this.#areas].map(([name, area]) => ({ name, ...area }));
    const all = { ...this.figures(), areas, hits: Object.fromEntries(this.hits) };
    writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
  }
}

function sumOf(areas: readonly Area[], figure: keyof Area): string {
  return String(areas.reduce((sum, area) => sum + area[figure], 0));
}
