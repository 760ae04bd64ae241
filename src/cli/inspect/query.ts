/** `query`: one statement that reads, and its rows; where there is no psql, and for scripts. */
import type { Writable } from 'node:stream';
import { loadConfig, type Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { ask, questionOf, type Answer, type AnswerRow, type Question } from '../../store/reads/answer.ts';
import { openDatabase } from '../../store/connection/database.ts';
import { createOutput, joined, type Output, type RowFormat } from '../command-line/output.ts';
import { parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';

export interface QueryIo {
  /** Read to its end when the statement is `-`. */
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** Aborting cancels the statement. */
  readonly stop: AbortSignal;
}

/** So long a reader may pause (`| less`); old row versions are kept for the query meanwhile. */
const pauseLimitMs = 60 * 60_000;

const formats = ['table', 'json', 'csv'] as const;
type Format = (typeof formats)[number];

/**
 * Prints a table that fits on a terminal, else one object in JSON per row; or what `--table`, `--json` or `--csv` asks for.
 * @throws IndexerError USAGE, DATABASE_NOT_FOUND, QUERY_REFUSED, OUTPUT_NOT_WRITTEN, INTERRUPTED and STORE_ errors
 */
export async function queryCommand(argv: readonly string[], env: NodeJS.ProcessEnv, io: QueryIo): Promise<void> {
  const { word, asked, rest } = queryArguments(argv);
  const config = loadConfig(rest, env);
  const statement = word === '-' ? await textOf(io) : word;
  if (statement.includes('\0')) throw wrong('the statement has a NUL in it, which Postgres cannot be sent');
  const question = questionOf(statement);
  if (question === undefined) throw wrong('query takes one select, with, values, table, explain or show');
  const format = asked ?? (io.stdout.isTTY === true ? 'table' : 'json');
  try {
    await print(config, question, format, io);
  } catch (thrown) {
    if (thrown instanceof IndexerError && thrown.code === 'OUTPUT_CLOSED') return;
    throw io.stop.aborted ? interrupted(thrown) : thrown;
  }
}

function queryArguments(argv: readonly string[]): { word: string; asked: Format | undefined; rest: readonly string[] } {
  const given = parse(commandNamed('query'), argv);
  const asked = formats.filter((format) => given.has(format));
  if (asked.length > 1) throw wrong('query prints in one format');
  const [word = '', ...more] = given.operands;
  if (more.length > 0) throw wrong('query takes one statement: put it in quotes');
  return { word, asked: asked[0], rest: given.options };
}

function wrong(found: string): IndexerError {
  return misuse(found, 'ledger-indexer query "select count(*) from explore.updates" [--json | --csv | --table]');
}

/** All of standard input. @throws IndexerError USAGE when it is not UTF-8; INTERRUPTED */
async function textOf({ stdin, stop }: QueryIo): Promise<string> {
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

async function bytesOf(stdin: QueryIo['stdin']): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stdin) pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces);
}

async function print(config: Config, question: Question, format: Format, { stdout, stop }: QueryIo): Promise<void> {
  const { schema, statementTimeoutMs, urlFile } = config.database;
  const database = openDatabase({
    url: urlOf(config),
    urlFile,
    schema,
    statementTimeoutMs,
    applicationName: 'ledger-indexer query',
    maxConnections: 2,
    idleInTransactionMs: pauseLimitMs,
  });
  // Plans and settings are read to their end.
  const width = stdout.isTTY === true && question.paged ? widthOf(stdout) : undefined;
  const output = createOutput(stdout, format === 'table', width);
  try {
    const asJson = format === 'json';
    await ask(database, question, { asJson, stop }, (answer) => show(answer, format, output));
  } finally {
    await database.close();
  }
  if (stop.aborted) throw interrupted();
}

/** A terminal that does not know its width says 0. */
function widthOf({ columns = 0 }: QueryIo['stdout']): number {
  return columns > 0 ? columns : 80;
}

function urlOf({ database: { url }, indexer: { dataDir } }: Config): string {
  if (url !== undefined) return url;
  throw new IndexerError(`DATABASE_URL is not set, and no embedded database of this user runs in ${dataDir}`, {
    code: 'DATABASE_NOT_FOUND',
  });
}

async function show(answer: Answer, format: Format, output: Output): Promise<void> {
  if (format === 'csv') return csv(answer, output);
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

/** RFC 4180, with a title row; nothing between two commas is null, `""` the empty text. */
async function csv({ columns, pages }: Answer, output: Output): Promise<void> {
  const line = (values: AnswerRow): string => `${values.map(quoted).join(',')}\r\n`;
  await output.text(line(columns.map(({ name }) => name)));
  for await (const rows of pages) {
    for (const piece of joined(rows, line)) await output.text(piece);
  }
}

function quoted(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/u.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function interrupted(cause?: unknown): IndexerError {
  return new IndexerError('the query was interrupted before its end', {
    code: 'INTERRUPTED',
    cause,
  });
}
