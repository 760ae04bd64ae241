/** The command line of `npm run bench:reads --`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** Distribution of the active contracts among the archived ones: `turnover`, or `scattered` evenly over the history. */
export const historySpreads = ['turnover', 'scattered'] as const;
export type HistorySpread = (typeof historySpreads)[number];

export interface ReadOptions {
  /** Number of contracts of the template that is queried, including archived ones. */
  readonly contracts: number;
  /** Number of measurements of each query, after the warm-up. */
  readonly rounds: number;
  readonly warmUp: number;
  readonly spread: HistorySpread;
  /** Text that the label of a query must contain to be measured; default: all queries are measured. */
  readonly only: string | undefined;
  readonly databaseUrl: string | undefined;
  /** Settings of the embedded server. */
  readonly settings: Readonly<Record<string, string>>;
  readonly json: string | undefined;
  /** Whether to print the plan of each query below the table. */
  readonly plans: boolean;
  /** Temporary folder of the embedded server's files. */
  readonly folder: string;
}

export const help = `npm run bench:reads -- [options]

  --contracts N        contracts of the template that is queried; 1500000, one in a hundred is active
  --rounds N           measurements of each query; 200
  --warm-up N          uncounted rounds before that; 20
  --spread KIND        turnover: most contracts are short-lived, a few long-lived (default)
                       scattered: active ones are evenly distributed, the worst case for pages read
  --only TEXT          only queries whose label contains TEXT
  --plans              print the plans
  --json FILE          write the results as JSON
  --database-url URL   server whose role may create databases; default: embedded
  --pg NAME=VALUE      setting of the embedded server; may be repeated
`;

const flags = {
  contracts: { type: 'string', default: '1500000' },
  rounds: { type: 'string', default: '200' },
  'warm-up': { type: 'string', default: '20' },
  spread: { type: 'string', default: 'turnover' },
  only: { type: 'string' },
  plans: { type: 'boolean', default: false },
  json: { type: 'string' },
  'database-url': { type: 'string' },
  pg: { type: 'string', multiple: true, default: [] as string[] },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Parses the arguments; undefined for `--help`. @throws Error that describes the invalid argument */
export function readReadOptions(argv: readonly string[]): ReadOptions | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags, strict: true });
  if (values.help) return undefined;
  const historySpread = historySpreads.find((knownSpread) => knownSpread === values.spread);
  if (historySpread === undefined)
    throw new Error(`--spread ${values.spread}: expected ${historySpreads.join(' or ')}`);
  return {
    contracts: parseInteger('--contracts', values.contracts, 1_000),
    rounds: parseInteger('--rounds', values.rounds, 1),
    warmUp: parseInteger('--warm-up', values['warm-up'], 0),
    spread: historySpread,
    only: values.only,
    plans: values.plans,
    json: values.json,
    databaseUrl: values['database-url'],
    settings: Object.fromEntries(values.pg.map(settingOf)),
    folder: resolve('.bench'),
  };
}

function parseInteger(flag: string, text: string, minimum: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < minimum) {
    throw new Error(`${flag} ${text}: expected an integer of at least ${String(minimum)}`);
  }
  return value;
}

function settingOf(pair: string): readonly [string, string] {
  const separator = pair.indexOf('=');
  if (separator < 1) throw new Error(`--pg ${pair}: expected NAME=VALUE`);
  return [pair.slice(0, separator), pair.slice(separator + 1)];
}
