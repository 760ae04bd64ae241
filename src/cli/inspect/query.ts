/** `query`: runs one read-only statement and prints its rows, for scripts and for machines without psql. */
import { loadConfig, type Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { QueryResult, ResultRow, ReadQuery } from '../../store/reads/answer.ts';
import type { Call, Command, Terminal } from '../command-line/command.ts';
import { csvLine } from '../../model/push/csv.ts';
import { csvText, formatFlags, formatOf, spreadsheetFlag, type Format } from '../command-line/format.ts';
import { createOutput, joinRows, type Output, type RowFormat } from '../command-line/output.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withAnyDatabase } from '../database/with-database.ts';

export const queryCommand: Command = {
  name: 'query',
  usage: 'SQL|- [--json | --csv [--spreadsheet] | --table]',
  summary: 'run one read-only SQL statement and print its rows',
  does: [
    'Runs select, with, values, table, explain or show in a transaction that only reads; - takes it from standard',
    'input.',
  ],
  operands: [{ name: 'SQL', repeated: true }],
  flags: [...formatFlags('print one JSON object per row, numbers with all digits'), spreadsheetFlag],
  examples: ['query "select * from explore.token_balances"', 'query - --csv < balances.sql > balances.csv'],
  exits: [
    [2, 'the statement is not read-only, or Postgres rejects it'],
    [69, 'the database cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/get-started/first-queries.md',
  /**
   * Prints a table on a terminal and otherwise one JSON object per row; `--table`, `--json` and `--csv` select a
   * format.
   * @throws IndexerError USAGE, DATABASE_NOT_FOUND, QUERY_REFUSED, OUTPUT_NOT_WRITTEN, INTERRUPTED and STORE_ errors
   */
  run: async (call) => {
    const { args, env, stdout, stop } = call;
    const { argument, printing: printOptions } = parseArgs(args, stdout);
    const config = loadConfig(env, args.options);
    const statement = argument === '-' ? await textOf(call) : argument;
    if (statement.includes('\0')) throw commandUsageError('the statement contains NUL, which Postgres does not accept');
    const { questionOf: parseReadQuery } = await import('../../store/reads/answer.ts');
    const question = parseReadQuery(statement);
    if (question === undefined) throw commandUsageError('query takes one select, with, values, table, explain or show');
    try {
      await runQuery(config, question, printOptions, call);
    } catch (thrown) {
      throw stop.aborted ? interruptedError(thrown) : thrown;
    }
  },
};

/** The reader may pause for an hour (`| less`). Until then Postgres keeps old row versions for the query. */
const openOptions = { command: 'query', feature: 'query', connections: 2, idleInTransactionMs: 60 * 60_000 } as const;

interface PrintOptions {
  readonly format: Format;
  /** Escapes text for CSV. */
  readonly text: (value: string | null) => string | null;
}

function parseArgs(args: Args, stdout: Terminal): { readonly argument: string; readonly printing: PrintOptions } {
  const format = formatOf(args, stdout);
  if (format === undefined) throw commandUsageError('query takes only one output format');
  const [argument = '', ...extraArguments] = args.operands;
  if (extraArguments.length > 0) throw commandUsageError('query takes one statement: put it in quotes');
  return { argument, printing: { format, text: csvText(args, format) } };
}

function commandUsageError(message: string): IndexerError {
  return usageError(message, 'ledger-indexer query "select count(*) from explore.updates" [--json | --csv | --table]');
}

/** Reads standard input to its end. @throws IndexerError USAGE if it is not UTF-8; INTERRUPTED */
async function textOf({ stdin, stop }: Call): Promise<string> {
  const abortion = new Promise<never>((_, reject) => {
    if (stop.aborted) reject(interruptedError());
    stop.addEventListener('abort', () => reject(interruptedError()), { once: true });
  });
  const bytes = await Promise.race([abortion, bytesOf(stdin)]);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw commandUsageError('standard input is not UTF-8');
  }
}

async function bytesOf(stdin: Call['stdin']): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}

async function runQuery(
  config: Config,
  question: ReadQuery,
  printOptions: PrintOptions,
  { stdout, stop }: Call,
): Promise<void> {
  assertDatabaseNamed(config);
  // Plans and settings are never truncated.
  const width = stdout.isTTY === true && question.paged ? widthOf(stdout) : undefined;
  const output = createOutput(stdout, printOptions.format === 'table', width);
  const asJson = printOptions.format === 'json';
  const { ask: runReadQuery } = await import('../../store/reads/answer.ts');
  await withAnyDatabase(config, openOptions, (database) =>
    runReadQuery(database, question, { asJson, stop }, (queryResult) => printResult(queryResult, printOptions, output)),
  );
  if (stop.aborted) throw interruptedError();
}

/** A terminal of unknown width reports 0. */
function widthOf({ columns = 0 }: Terminal): number {
  return columns > 0 ? columns : 80;
}

function assertDatabaseNamed({ database: { url }, indexer: { dataDir } }: Config): void {
  if (url !== undefined) return;
  throw new IndexerError(`DATABASE_URL is not set, and no embedded database of this user runs in ${dataDir}`, {
    code: 'DATABASE_NOT_FOUND',
  });
}

async function printResult(queryResult: QueryResult, { format, text }: PrintOptions, output: Output): Promise<void> {
  if (format === 'csv') return csv(queryResult, text, output);
  const { columns, pages } = queryResult;
  const rows: RowFormat<ResultRow> = {
    columns: columns.map(({ name, isNumber }) => (isNumber ? { title: name, right: true } : { title: name })),
    lines: (row) => [row.map((value) => value ?? '')],
    json: (row) => (queryResult.isJson ? (row[0] ?? 'null') : JSON.stringify(objectOf(queryResult, row))),
  };
  return output.rows(pages, rows);
}

function objectOf({ columns }: QueryResult, row: ResultRow): Record<string, string | null> {
  return Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null]));
}

/** Prints CSV with a header row. */
async function csv({ columns, pages }: QueryResult, text: PrintOptions['text'], output: Output): Promise<void> {
  await output.text(csvLine(columns.map(({ name }) => text(name))));
  const line = (row: ResultRow): string =>
    csvLine(row.map((value, index) => (columns[index]?.isNumber === true ? value : text(value))));
  for await (const rows of pages) {
    for (const chunk of joinRows(rows, line)) await output.text(chunk);
  }
}

function interruptedError(cause?: unknown): IndexerError {
  return new IndexerError('the query was interrupted', {
    code: 'INTERRUPTED',
    cause,
  });
}
