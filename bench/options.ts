/** The command line of `npm run bench --`. */
import { isAbsolute, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Variant } from './indexer-process.ts';
import { profileNamed, profileNames, type Profile } from './replay/profiles.ts';

export const measures = ['ingest', 'baselines', 'seed', 'toy', 'latency', 'memory', 'growth'] as const;
export type Measure = (typeof measures)[number];

export interface Options {
  readonly profiles: readonly Profile[];
  readonly measures: ReadonlySet<Measure>;
  /** Whether to measure everything for every profile, because the options list both. */
  readonly everywhere: boolean;
  readonly rounds: number;
  /** Number of transactions of the workload; default: that of the profile. */
  readonly transactions: number | undefined;
  readonly quick: boolean;
  readonly ceiling: boolean;
  readonly check: boolean;
  readonly cache: string;
  readonly databaseUrl: string | undefined;
  /** URL of a second server, which is measured in the same rounds. */
  readonly secondUrl: string | undefined;
  /** Minimum share of the first server's ingest / COPY that the second must reach. */
  readonly leastShare: number;
  readonly settings: Readonly<Record<string, string>>;
  /** Further ways to run the indexer, which are measured in the same rounds. */
  readonly variants: readonly Variant[];
  /** Environment variables for every run of the indexer. */
  readonly env: Readonly<Record<string, string>>;
  readonly json: string | undefined;
  readonly profileCpu: boolean;
  readonly latencySeconds: number;
  readonly pollPauseMs: number;
  readonly growthSizes: readonly number[];
  readonly memoryTransactions: number;
  readonly stallSeconds: number;
  readonly toySeconds: number;
}

export const help = `npm run bench -- [options]

  --only LIST          of ${measures.join(', ')}; default: all
  --profile LIST       of ${profileNames.join(', ')}; default: all (only ingest, except for the first);
                       quick: only the first
  --rounds N           rounds, each measures everything once; 5, quick: 1
  --transactions N     length of the streams, and entries of the seed
  --quick              short streams, one round: less than three minutes on an idle machine
  --no-ceiling         no COPY of the same rows, and so no ratios
  --no-check           do not check the tables after each run
  --env NAME=VALUE     variable for every run of the indexer; may be repeated
  --variant LABEL:NAME=VALUE[,NAME=VALUE]   another run per round with other settings
  --against LABEL:PATH another run per round of another build; PATH is its main.js
  --profile-cpu        one more run per profile with a V8 CPU profile and its summary
  --json FILE          write the results as JSON
  --cache DIR          folder of recordings and profiles; default .bench/cache
  --database-url URL   server on this machine (superuser); default: embedded
  --beside URL         second server, measured in the same rounds and compared with the first
  --least-share N      exit with 1 if ingest / COPY of the second is below this share of the first; 0
  --pg NAME=VALUE      setting of the embedded server; may be repeated
  --latency-seconds N  length of each latency run
  --poll-pause MS      pause of the latency observer between two polls; 0.3
  --growth LIST        numbers of existing contracts, one run over each and one over none;
                       1000000,5000000,10000000, quick: 100000
  --stall-seconds N    time for which Postgres is stopped in the memory run
`;

const flags = {
  only: { type: 'string' },
  profile: { type: 'string' },
  rounds: { type: 'string' },
  transactions: { type: 'string' },
  quick: { type: 'boolean', default: false },
  'no-ceiling': { type: 'boolean', default: false },
  'no-check': { type: 'boolean', default: false },
  env: { type: 'string', multiple: true, default: [] as string[] },
  variant: { type: 'string', multiple: true, default: [] as string[] },
  against: { type: 'string', multiple: true, default: [] as string[] },
  'profile-cpu': { type: 'boolean', default: false },
  json: { type: 'string' },
  cache: { type: 'string', default: '.bench/cache' },
  'database-url': { type: 'string' },
  beside: { type: 'string' },
  'least-share': { type: 'string' },
  pg: { type: 'string', multiple: true, default: [] as string[] },
  'latency-seconds': { type: 'string' },
  'poll-pause': { type: 'string', default: '0.3' },
  growth: { type: 'string' },
  'stall-seconds': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Parses the arguments; undefined for `--help`. @throws Error that describes the invalid argument */
export function readOptions(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags, strict: true });
  if (values.help) return undefined;
  const { quick: isQuick } = values;
  return {
    profiles: parseList(values.profile, isQuick ? profileNames.slice(0, 1) : profileNames, profileNames).map(
      profileNamed,
    ),
    measures: new Set(parseList(values.only, measures)),
    everywhere: values.only !== undefined && values.profile !== undefined,
    rounds: numberOf('--rounds', values.rounds, isQuick ? 1 : 5),
    transactions: values.transactions === undefined ? undefined : numberOf('--transactions', values.transactions, 0),
    quick: isQuick,
    ceiling: !values['no-ceiling'],
    check: !values['no-check'],
    cache: resolve(values.cache),
    databaseUrl: values['database-url'],
    secondUrl: values.beside,
    leastShare: numberOf('--least-share', values['least-share'], 0),
    settings: pairs('--pg', values.pg),
    variants: [...values.variant.map(variantOf), ...values.against.map(buildOf)],
    env: pairs('--env', values.env),
    json: values.json,
    profileCpu: values['profile-cpu'],
    latencySeconds: numberOf('--latency-seconds', values['latency-seconds'], isQuick ? 3 : 10),
    pollPauseMs: numberOf('--poll-pause', values['poll-pause'], 0),
    growthSizes: sizes(values.growth ?? (isQuick ? '100000' : '1000000,5000000,10000000')),
    memoryTransactions: isQuick ? 30_000 : 335_000,
    stallSeconds: numberOf('--stall-seconds', values['stall-seconds'], isQuick ? 5 : 30),
    toySeconds: isQuick ? 2 : 8,
  };
}

/** Names in a list; `fallback` if the option is missing. @throws Error for an unknown name */
function parseList<T extends string>(
  text: string | undefined,
  fallback: readonly T[],
  allowedValues = fallback,
): readonly T[] {
  if (text === undefined) return fallback;
  return text.split(',').map((name) => {
    const option = allowedValues.find((candidate) => candidate === name);
    if (option === undefined) throw new Error(`"${name}" is not known: expected some of ${allowedValues.join(', ')}`);
    return option;
  });
}

function numberOf(flag: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${flag} ${text ?? ''}: expected a number`);
  return value;
}

function sizes(text: string): readonly number[] {
  const numbers = text.split(',').map(Number);
  const invalidSize = numbers.find((size) => !Number.isInteger(size) || size < 0);
  if (invalidSize !== undefined) throw new Error(`--growth ${text}: expected integers`);
  return numbers;
}

function pairs(flag: string, entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries.map((pair) => {
      const separator = pair.indexOf('=');
      if (separator < 1) throw new Error(`${flag} ${pair}: expected NAME=VALUE`);
      return [pair.slice(0, separator), pair.slice(separator + 1)];
    }),
  );
}

function splitLabel(flag: string, text: string): readonly [string, string] {
  const separator = text.indexOf(':');
  if (separator < 1) throw new Error(`${flag} ${text}: expected LABEL:…`);
  return [text.slice(0, separator), text.slice(separator + 1)];
}

function variantOf(text: string): Variant {
  const [name, env] = splitLabel('--variant', text);
  return { name, env: pairs('--variant', env.split(',')) };
}

function buildOf(text: string): Variant {
  const [name, path] = splitLabel('--against', text);
  return { name, env: {}, program: isAbsolute(path) ? path : resolve(path) };
}
