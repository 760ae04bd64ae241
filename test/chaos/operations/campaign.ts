/**
 * `npm run chaos -- --operations`: operations of an operator while the indexer runs (widen, rebuild, move), with
 * processes that are killed at any moment, and the result compared with a fresh index. Prints a line for each and
 * writes the results.
 */
import { writeFileSync } from 'node:fs';
import { run as move } from './move.ts';
import { run as rebuild } from './rebuild.ts';
import { run as widen } from './widen.ts';

export interface OperationsOptions {
  /** Name of the only operation to run; absent: all. */
  readonly only: string | undefined;
  /** Random seed of the first run of each. */
  readonly firstSeed: number;
  /** Runs of each; the default is the claim of the docs. */
  readonly seeds: number | undefined;
  /** Contracts in the database before it begins. */
  readonly contracts: number;
  readonly madeContracts: number | undefined;
  readonly stepTimeoutMs: number;
  readonly json: string | undefined;
}

/** The claim in the docs: so many runs of each, and at least a kill in each. */
const operations = [
  { name: 'widen', seeds: 20, run: widen },
  { name: 'rebuild', seeds: 20, run: rebuild },
  { name: 'move', seeds: 50, run: move },
] as const;

/** Resolves to how many rows were lost, duplicated or altered, and how many operations fell short of their kills. */
export async function runOperations(
  { only, seeds: requestedSeeds, json, ...options }: OperationsOptions,
  say: (line: string) => void,
): Promise<number> {
  if (only !== undefined && !operations.some(({ name }) => name === only)) {
    throw new TypeError(`there is no operation ${only}`);
  }
  const figures: Record<string, Readonly<Record<string, number>>> = {};
  // After each run: an interrupted run of the suite has its results up to then.
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
