/** The command line of `npm run bench:lake --`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface LakeOptions {
  /** Number of transactions of the default profile, with three events each. */
  readonly transactions: number;
  /**
   * Number of transactions of the small history whose export is killed after every operation on its files. If it is 0,
   * the export of the large history is not killed either.
   */
  readonly crashTransactions: number;
  /**
   * Size of a history that is generated without a database, to measure only the bookkeeping. Undefined to measure the
   * export of an indexed history.
   */
  readonly made: { readonly ranges: number; readonly tables: number; readonly rows: number } | undefined;
  readonly databaseUrl: string | undefined;
  readonly json: string | undefined;
  /** Folder of the recordings. */
  readonly cache: string;
  /** Temporary folder for the files of the embedded server and of the lakes. */
  readonly folder: string;
}

export const help = `npm run bench:lake -- [options]

  --transactions N        transactions of the default profile, three events each; 300000
  --crash-transactions N  transactions of a second history, whose export is killed after every operation on its
                          files and restarted; 600. The first history's export is killed repeatedly. 0: neither
  --ranges N              measure only the bookkeeping: ranges of a history generated without a database
  --tables N              tables of that history; 20
  --rows N                rows of each table in each range of that history; 5000
  --json FILE             write the results as JSON
  --cache DIR             folder of the recordings; default .bench/cache
  --database-url URL      server whose role may create databases; default: embedded
`;

const flags = {
  transactions: { type: 'string', default: '300000' },
  'crash-transactions': { type: 'string', default: '600' },
  ranges: { type: 'string' },
  tables: { type: 'string', default: '20' },
  rows: { type: 'string', default: '5000' },
  json: { type: 'string' },
  cache: { type: 'string', default: '.bench/cache' },
  'database-url': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Parses the arguments; undefined for `--help`. @throws Error that describes the invalid argument */
export function readLakeOptions(argv: readonly string[]): LakeOptions | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags, strict: true });
  if (values.help) return undefined;
  return {
    transactions: parseInteger('--transactions', values.transactions),
    crashTransactions: parseInteger('--crash-transactions', values['crash-transactions']),
    made: values.ranges === undefined ? undefined : parseMadeOptions(values.ranges, values.tables, values.rows),
    databaseUrl: values['database-url'],
    json: values.json,
    cache: resolve(values.cache),
    folder: resolve('.bench'),
  };
}

function parseMadeOptions(ranges: string, tables: string, rows: string): LakeOptions['made'] {
  return {
    ranges: parseInteger('--ranges', ranges),
    tables: parseInteger('--tables', tables),
    rows: parseInteger('--rows', rows),
  };
}

function parseInteger(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${flag} ${text}: expected an integer`);
  return value;
}
