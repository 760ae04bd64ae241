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
  { only, seeds: requestedSeeds, json, ...options }: OperationsOptions,
  say: (line: string) => void,
): Promise<number> {
  if (only !== undefined && !operations.some(({ name }) => name === only)) {
    throw new TypeError(`there is no operation ${only}`);
  }
  const figures: Record<string, Readonly<Record<string, number>>> = {};
  // Writes the results after each run, so that an interrupted suite has its results so far.
  const note = (name: string, found: Readonly<Record<string, number>>): void => {
    figures[name] = found;
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(figures, null, 2)}\n`);
  };
  let wrong = 0;
  for (const { name, seeds: claimed, run } of operations) {
    if (only !== undefined && only !== name) continue;
    const seeds = requestedSeeds ?? claimed;
    const began = performance.now();
    const which = `--operations --point ${name} --seed ${String(options.firstSeed)} --seeds ${String(seeds)}`;
    const replay = `npm run chaos -- ${which} --contracts ${String(options.contracts)}`;
    say(`operation ${name}: ${String(seeds)} runs over ${String(options.contracts)} contracts`);
    const progress = (found: Readonly<Record<string, number>>): void => {
      note(name, found);
      say(`  ${formatFigures(found)}; ${seconds(began)} s`);
    };
    const found = await run({ seeds, ...options, progress }).catch((thrown: unknown) => {
      say(`FAILED operation ${name}\n  again: ${replay}`);
      throw thrown;
    });
    note(name, found);
    const failed = found.lost + found.duplicated + found.altered + (found.kills < seeds ? 1 : 0);
    wrong += failed;
    say(`  ${formatFigures(found)}; ${seconds(began)} s`);
    if (failed > 0) say(`FAILED operation ${name}\n  again: ${replay}`);
  }
  return wrong;
}

function formatFigures(found: Readonly<Record<string, number>>): string {
  return Object.entries(found)
    .map(([figure, value]) => `${figure} ${String(value)}`)
    .join(', ');
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(0);
}
