/**
 * `npm run chaos -- --operations` runs the operations of an operator (widen, rebuild, move) while the indexer runs.
 * Processes are killed at random moments, and the result is compared with a fresh index. Prints one line per operation
 * and writes the results.
 */
import { writeFileSync } from 'node:fs';
import { run as move } from './move.ts';
import { run as rebuild } from './rebuild.ts';
import { run as widen } from './widen.ts';

export interface OperationsOptions {
  /** Name of the only operation to run; absent: all operations. */
  readonly only: string | undefined;
  /** Random seed of the first run of each operation. */
  readonly firstSeed: number;
  /** Number of runs of each operation; by default, the number that the docs claim. */
  readonly seeds: number | undefined;
  /** Number of contracts in the database before an operation begins. */
  readonly contracts: number;
  readonly madeContracts: number | undefined;
  readonly stepTimeoutMs: number;
  readonly json: string | undefined;
}

/** The number of runs that the docs claim. Each run has at least one kill. */
const operations = [
  { name: 'widen', seeds: 20, run: widen },
  { name: 'rebuild', seeds: 20, run: rebuild },
  { name: 'move', seeds: 50, run: move },
] as const;

/** Resolves to the number of lost, duplicated or altered rows, plus the number of operations with too few kills. */
export async function runOperations(
  { only: onlyOperation, seeds: requestedSeeds, json, ...options }: OperationsOptions,
  logLine: (line: string) => void,
): Promise<number> {
  if (onlyOperation !== undefined && !operations.some(({ name }) => name === onlyOperation)) {
    throw new TypeError(`there is no operation ${onlyOperation}`);
  }
  const figures: Record<string, Readonly<Record<string, number>>> = {};
  // Writes the results after each run, so that an interrupted suite has its results so far.
  const recordCounts = (name: string, counts: Readonly<Record<string, number>>): void => {
    figures[name] = counts;
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(figures, null, 2)}\n`);
  };
  let failedOperations = 0;
  for (const { name, seeds: claimedSeeds, run } of operations) {
    if (onlyOperation !== undefined && onlyOperation !== name) continue;
    const seeds = requestedSeeds ?? claimedSeeds;
    const startMs = performance.now();
    const repeatArgs = `--operations --point ${name} --seed ${String(options.firstSeed)} --seeds ${String(seeds)}`;
    const replay = `npm run chaos -- ${repeatArgs} --contracts ${String(options.contracts)}`;
    logLine(`operation ${name}: ${String(seeds)} runs over ${String(options.contracts)} contracts`);
    const progress = (counts: Readonly<Record<string, number>>): void => {
      recordCounts(name, counts);
      logLine(`  ${formatFigures(counts)}; ${seconds(startMs)} s`);
    };
    const counts = await run({ seeds, ...options, progress }).catch((error: unknown) => {
      logLine(`FAILED operation ${name}\n  again: ${replay}`);
      throw error;
    });
    recordCounts(name, counts);
    const failureCount = counts.lost + counts.duplicated + counts.altered + (counts.kills < seeds ? 1 : 0);
    failedOperations += failureCount;
    logLine(`  ${formatFigures(counts)}; ${seconds(startMs)} s`);
    if (failureCount > 0) logLine(`FAILED operation ${name}\n  again: ${replay}`);
  }
  return failedOperations;
}

function formatFigures(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([figure, value]) => `${figure} ${String(value)}`)
    .join(', ');
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(0);
}
