/** `query`: runs one read-only statement and prints its rows, for scripts and for machines without psql. */
import { loadConfig, type Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Answer, AnswerRow, Question } from '../../store/reads/answer.ts';
import type { Call, Command, Terminal } from '../command-line/command.ts';
import { csvLine } from '../../model/push/csv.ts';
import { csvText, formatFlags, formatOf, spreadsheetFlag, type Format } from '../command-line/format.ts';
import { createOutput, joined, type Output, type RowFormat } from '../command-line/output.ts';
import type { Args } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
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
    const { argument, printing } = checked(args, stdout);
    const config = loadConfig(env, args.options);
    const statement = argument === '-' ? await textOf(call) : argument;
    if (statement.includes('\0')) throw wrong('the statement contains NUL, which Postgres does not accept');
    const { questionOf } = await import('../../store/reads/answer.ts');
    const question = questionOf(statement);
    if (question === undefined) throw wrong('query takes one select, with, values, table, explain or show');
    try {
      await answer(config, question, printing, call);
    } catch (thrown) {
      throw stop.aborted ? interrupted(thrown) : thrown;
    }
  },
};

/** The reader may pause for an hour (`| less`). Until then Postgres keeps old row versions for the query. */
const opening = { command: 'query', feature: 'query', connections: 2, idleInTransactionMs: 60 * 60_000 } as const;

interface Printing {
  readonly format: Format;
  /** Escapes text for CSV. */
  readonly text: (value: string | null) => string | null;
}

function checked(args: Args, stdout: Terminal): { readonly argument: string; readonly printing: Printing } {
  const format = formatOf(args, stdout);
  if (format === undefined) throw wrong('query takes only one output format');
  const [argument = '', ...more] = args.operands;
  if (more.length > 0) throw wrong('query takes one statement: put it in quotes');
  return { argument, printing: { format, text: csvText(args, format) } };
}

function wrong(found: string): IndexerError {
  return misuse(found, 'ledger-indexer query "select count(*) from explore.updates" [--json | --csv | --table]');
}

/** Reads standard input to its end. @throws IndexerError USAGE if it is not UTF-8; INTERRUPTED */
async function textOf({ stdin, stop }: Call): Promise<string> {
  const aborted = new Promise<never>((_, reject) => {
    if (stop.aborted) reject(interrupted());
    stop.addEventListener('abort', () => reject(interrupted()), { once: true });
  });
  const bytes = await Promise.race([aborted, bytesOf(stdin)]);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw wrong('standard input is not UTF-8');
  }
}

async function bytesOf(stdin: Call['stdin']): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stdin) pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces);
}

async function answer(config: Config, question: Question, printing: Printing, { stdout, stop }: Call): Promise<void> {
  assertNamed(config);
  // Plans and settings are never truncated.
  const width = stdout.isTTY === true && question.paged ? widthOf(stdout) : undefined;
  const output = createOutput(stdout, printing.format === 'table', width);
  const asJson = printing.format === 'json';
  const { ask } = await import('../../store/reads/answer.ts');
  await withAnyDatabase(config, opening, (database) =>
    ask(database, question, { asJson, stop }, (found) => printAnswer(found, printing, output)),
  );
  if (stop.aborted) throw interrupted();
}

/** A terminal of unknown width reports 0. */
function widthOf({ columns = 0 }: Terminal): number {
  return columns > 0 ? columns : 80;
}

function assertNamed({ database: { url }, indexer: { dataDir } }: Config): void {
  if (url !== undefined) return;
  throw new IndexerError(`DATABASE_URL is not set, and no embedded database of this user runs in ${dataDir}`, {
    code: 'DATABASE_NOT_FOUND',
  });
}

async function printAnswer(answer: Answer, { format, text }: Printing, output: Output): Promise<void> {
  if (format === 'csv') return csv(answer, text, output);
  const { columns, pages } = answer;
  const rows: RowFormat<AnswerRow> = {
    columns: columns.map(({ name, isNumber }) => (isNumber ? { title: name, right: true } : { title: name })),
    lines: (row) => [row.map((value) => value ?? '')],
    json: (row) => (answer.isJson ? (row[0] ?? 'null') : JSON.stringify(objectOf(answer, row))),
  };
  return output.rows(pages, rows);
}

function objectOf({ columns }: Answer, row: AnswerRow): Record<string, string | null> {
  return Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null]));
}

/** Prints CSV with a header row. */
async function csv({ columns, pages }: Answer, text: Printing['text'], output: Output): Promise<void> {
  await output.text(csvLine(columns.map(({ name }) => text(name))));
  const line = (row: AnswerRow): string =>
    csvLine(row.map((value, at) => (columns[at]?.isNumber === true ? value : text(value))));
  for await (const rows of pages) {
    for (const piece of joined(rows, line)) await output.text(piece);
  }
}

function interrupted(cause?: unknown): IndexerError {
  return new IndexerError('the query was interrupted', {
    code: 'INTERRUPTED',
    cause,
  });
}
