/** Command-line options of `npm run chaos`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { OperationsOptions } from './operations/campaign.ts';
import type { ChaosTier } from './tiers/tier.ts';

export interface CampaignOptions {
  /** Names of tiers to run; all tiers if absent. */
  readonly tiers: readonly string[] | undefined;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly lanes: number;
  readonly stride: number;
  readonly stepTimeoutMs: number;
  /** A crash point to repeat, or the name of an operation. */
  readonly point: string | undefined;
  /**
   * Part of the name of a fault that every seed gets while it follows; if absent, seeds take turns through all faults.
   */
  readonly fault: string | undefined;
  /** Whether injected bugs are tested only with the fast tier. */
  readonly fastOnly: boolean;
  /** Minimum number of times that each kind of fault must happen. */
  readonly least: number;
  readonly json: string | undefined;
  /** URL of a server to use instead of an embedded one. */
  readonly server: string | undefined;
  /** Whether to end at the first failure. */
  readonly bail: boolean;
  /** Operations of an operator, which run instead of the tiers. */
  readonly operations: OperationsOptions | undefined;
  /** Whether to print the log of the indexer for each failure. */
  readonly loud: boolean;
}

const defaultSeeds = 500;
/** Greatest random first seed, so that the following seeds stay in range. */
const maxSeed = 1_000_000_000;
/** A kind of fault that happens fewer times in a full run counts as untested. */
const minFaultsOfFull = 5;
/** A step that takes one second on an idle machine may take many seconds on a busy machine. This is not a failure. */
const defaultStepTimeoutSeconds = 60;

/** The number used for the results in docs/explanation/reliability.md. */
const contractsOfOperations = 50_000;
/** A rebuild of these contracts is a single step. */
const operationStepTimeoutSeconds = 600;

/** Undefined when help was requested. @throws TypeError on an unknown option */
export function readOptions(args: readonly string[], chaosTiers: readonly ChaosTier[]): CampaignOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tier: { type: 'string', multiple: true },
      seed: { type: 'string' },
      seeds: { type: 'string' },
      lanes: { type: 'string', default: '3' },
      stride: { type: 'string', default: '1' },
      patience: { type: 'string' },
      point: { type: 'string' },
      fault: { type: 'string' },
      tests: { type: 'string', default: 'all' },
      least: { type: 'string' },
      json: { type: 'string' },
      server: { type: 'string' },
      bail: { type: 'boolean', default: false },
      loud: { type: 'boolean', default: false },
      operations: { type: 'boolean', default: false },
      contracts: { type: 'string' },
      'made-contracts': { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const tierNames = values.tier?.flatMap((text) => text.split(','));
  const unknown = tierNames?.find((name) => !chaosTiers.some((chaosTier) => chaosTier.name === name));
  if (unknown !== undefined) throw new TypeError(`there is no tier ${unknown}`);
  const firstSeed = parseInteger(values.seed, randomInt(1, maxSeed));
  // With a first seed, one seed repeats a run. Without it, the default is a run of the suite.
  const seeds = parseInteger(values.seeds, values.seed === undefined ? defaultSeeds : 1);
  const minimum = parseInteger(values.least, tierNames === undefined && seeds >= defaultSeeds ? minFaultsOfFull : 0);
  return {
    tiers: tierNames,
    firstSeed,
    seeds,
    lanes: parseInteger(values.lanes, 1),
    stride: parseInteger(values.stride, 1),
    stepTimeoutMs: parseInteger(values.patience, defaultStepTimeoutSeconds) * 1000,
    point: values.point,
    fault: values.fault,
    fastOnly: fastOnlyOf(values.tests),
    least: minimum,
    json: values.json,
    server: values.server,
    bail: values.bail,
    loud: values.loud,
    operations: values.operations ? operationsOf(values, firstSeed) : undefined,
  };
}

function operationsOf(values: Readonly<Record<string, unknown>>, firstSeed: number): OperationsOptions {
  const text = (name: string): string | undefined => (typeof values[name] === 'string' ? values[name] : undefined);
  const [seeds, madeContracts] = [text('seeds'), text('made-contracts')];
  return {
    only: text('point'),
    firstSeed,
    seeds: seeds === undefined ? undefined : parseInteger(seeds, 0),
    contracts: parseInteger(text('contracts'), contractsOfOperations),
    madeContracts: madeContracts === undefined ? undefined : parseInteger(madeContracts, 0),
    stepTimeoutMs: parseInteger(text('patience'), operationStepTimeoutSeconds) * 1000,
    json: text('json'),
  };
}

function fastOnlyOf(tests: string): boolean {
  if (tests !== 'all' && tests !== 'fast') throw new TypeError(`--tests: expected all or fast, got ${tests}`);
  return tests === 'fast';
}

function parseInteger(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^\d+$/.test(text)) throw new TypeError(`expected an integer, got ${text}`);
  return Number(text);
}

/** Usage text of the command. */
export function help(chaosTiers: readonly ChaosTier[]): string {
  return [
    'npm run chaos -- [options]',
    '',
    '  --tier NAME     only this tier (repeat it, or separate names by commas):',
    ...chaosTiers.map(({ name, what: description }) => `                  ${name.padEnd(14)} ${description}`),
    `  --seeds N       number of seeds (${String(defaultSeeds)})`,
    '  --seed N        the first random seed, drawn if absent; without --seeds: only this one',
    '  --point P       only this crash point, e.g. postgres-up-17; or injected bugs of this area, or with this in their names;',
    '                  or only this operation',
    '  --fault TEXT    each seed has a fault with this in its name',
    '  --tests fast    injected bugs: count those that the fast tier detects',
    '  --stride N      every N-th crash point (1)',
    `  --patience S    seconds a step forward may take before it is a failure (${String(defaultStepTimeoutSeconds)})`,
    '  --lanes N       runs at the same time (3)',
    `  --least N       fewest hits of every kind of fault (${String(minFaultsOfFull)} in a full run, otherwise 0)`,
    '  --json FILE     write the results',
    '  --server URL    a Postgres server to use instead of an embedded one',
    '  --bail          end at the first failure',
    '  --operations    instead: widen, rebuild and move, with processes that are killed; 20 runs (move: 50) unless --seeds says',
    `  --contracts N   for these, about so many contracts (${String(contractsOfOperations)})`,
    '  --made-contracts N  measure the pause of a rebuild again, over N contracts created by SQL',
    '  --loud          print the log of the indexer for each failure',
  ].join('\n');
}
