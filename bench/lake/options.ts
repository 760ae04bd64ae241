/** The command line of `npm run bench:lake --`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface LakeOptions {
  /** Of the default profile: three events each. */
  readonly transactions: number;
  /** Of the small history whose export is killed after every operation on its files; none: the large one's is not killed either. */
  readonly crashTransactions: number;
  /** A history that is made without a database, for the bookkeeping alone; undefined: the export of an indexed one is measured. */
  readonly made: { readonly ranges: number; readonly tables: number; readonly rows: number } | undefined;
  readonly databaseUrl: string | undefined;
  readonly json: string | undefined;
  /** Recordings. */
  readonly cache: string;
  /** For the files of the embedded server and of the lakes, removed at the end. */
  readonly folder: string;
}

export const help = `npm run bench:lake -- [options]

  --transactions N        of the default profile, three events each; 300000
  --crash-transactions N  of a second history, whose export is killed after every operation on its files and begun anew; 600.
                          That of the first is killed again and again on its way. 0: neither
  --ranges N              measure the bookkeeping alone: a history of so many ranges, made without a database
  --tables N              of that history; 20
  --rows N                of each table in each range of that history; 5000
  --json FILE             the figures as JSON
  --cache DIR             recordings; .bench/cache unless given
  --database-url URL      a server of one's own whose role may create databases; embedded unless given
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

/** Reads the arguments; undefined when help was asked for. @throws Error that says what is wrong with them */
export function readLakeOptions(argv: readonly string[]): LakeOptions | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags, strict: true });
  if (values.help) return undefined;
  return {
    transactions: wholeNumber('--transactions', values.transactions),
    crashTransactions: wholeNumber('--crash-transactions', values['crash-transactions']),
    made: values.ranges === undefined ? undefined : madeOf(values.ranges, values.tables, values.rows),
    databaseUrl: values['database-url'],
    json: values.json,
    cache: resolve(values.cache),
    folder: resolve('.bench'),
  };
}

function madeOf(ranges: string, tables: string, rows: string): LakeOptions['made'] {
  return {
    ranges: wholeNumber('--ranges', ranges),
    tables: wholeNumber('--tables', tables),
    rows: wholeNumber('--rows', rows),
  };
}

function wholeNumber(flag: string, given: string): number {
  const value = Number(given);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${flag} ${given}: expected a whole number`);
  return value;
}
