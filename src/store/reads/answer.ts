/**
 * Runs one read-only statement of a user: checks its text, and returns its rows as text, page by page, without a limit
 * on their number.
 */
import { type CustomTypesConfig, DatabaseError, type FieldDef, type PoolClient, type QueryArrayConfig } from 'pg';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { pageUrl } from '../../version.ts';
import type { Database } from '../connection/database.ts';
import { readersPath, readSchemas } from '../connection/read-schemas.ts';
import { reportPlanning } from '../connection/report-planning.ts';

export interface AnswerColumn {
  readonly name: string;
  readonly isNumber: boolean;
}

/** Values as Postgres formats them; null stays null. */
export type AnswerRow = readonly (string | null)[];

export interface Answer {
  /** There is only one column if each row is a JSON object. */
  readonly columns: readonly AnswerColumn[];
  readonly isJson: boolean;
  /** Pages of rows. Iterate once, while `use` runs. */
  readonly pages: AsyncIterable<readonly AnswerRow[]>;
}

/** The input of {@link ask}. */
export interface Question {
  /** One statement, without a semicolon at its end. */
  readonly statement: string;
  /** Whether its rows can be fetched page by page. `explain` and `show` return few rows. */
  readonly paged: boolean;
  /** Whether it returns a query plan. */
  readonly explains: boolean;
}

const withCursor = new Set(['select', 'with', 'values', 'table']);
const withoutCursor = new Set(['explain', 'show']);

/** Undefined if the text has more than one statement, or a statement of a kind that {@link ask} does not accept. */
export function questionOf(text: string): Question | undefined {
  const { bare: statement, firstWord, more } = readStatement(text);
  const paged = withCursor.has(firstWord);
  const explains = firstWord === 'explain';
  return !more && (paged || withoutCursor.has(firstWord)) ? { statement, paged, explains } : undefined;
}

export interface AskOptions {
  /** Whether each row of a paged result is returned as a JSON object. */
  readonly asJson: boolean;
  /** Aborting cancels the statement on the server. */
  readonly stop: AbortSignal;
}

/** The cursor is planned for fetching all rows. By default, Postgres plans for fetching only the first rows. */
const planning = `${reportPlanning}; set local cursor_tuple_fraction = 1`;

/**
 * Runs the statement in a read-only transaction, with the search path of readers, and passes its result to `use`. The
 * transaction is rolled back, because Postgres allows `explain analyze create table … as` in a read-only transaction.
 * @throws IndexerError QUERY_REFUSED, with the message of Postgres, for a statement that Postgres rejects; STORE_
 * errors; any error after `stop` is aborted
 */
export function ask(
  database: Database,
  question: Question,
  options: AskOptions,
  use: (answer: Answer) => Promise<void>,
): Promise<void> {
  return database.withClient(async (client) => {
    const path = `set local search_path to ${readersPath(readSchemas(database.schema))}`;
    await client.query(`begin transaction read only; ${planning}; ${path}`);
    const calledOff = await onAbort(database, client, options.stop);
    try {
      await use(await answerOf(client, question, options));
    } finally {
      calledOff();
    }
    await client.query('rollback');
  });
}

/** @returns a function that ends the watch */
async function onAbort(database: Database, client: PoolClient, stop: AbortSignal): Promise<() => void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const cancel = (): void => {
    // If the cancel request fails, the statement ends when its time limit is reached.
    database.pool.query('select pg_cancel_backend($1)', [rows[0]?.pid]).catch(() => undefined);
  };
  // A signal that is already aborted does not call listeners.
  stop.throwIfAborted();
  stop.addEventListener('abort', cancel, { once: true });
  return () => stop.removeEventListener('abort', cancel);
}

async function answerOf(
  client: PoolClient,
  { statement, paged }: Question,
  { asJson, stop }: AskOptions,
): Promise<Answer> {
  const sent = (text: string, prefix = 0) => refusing(statement, prefix, run(client, text));
  if (!paged) {
    const { fields, rows } = await sent(statement);
    return { columns: fields.map(columnOf), isJson: false, pages: onePage(rows) };
  }
  const [before, after] = asJson ? ['select row_to_json(answer.*)::text from (', '\n) as answer'] : ['', ''];
  const declare = `declare answer no scroll cursor for ${before}`;
  await sent(`${declare}${statement}${after}`, declare.length);
  const next = (rows: number) => sent(`fetch ${String(rows)} from answer`);
  const first = await next(firstPageRows);
  return { columns: first.fields.map(columnOf), isJson: asJson, pages: pagesOf(first.rows, next, stop) };
}

/** The first page has few rows, because the length of the rows is not known yet. */
const firstPageRows = 10;
const pageRows = 1_000;
/** Intended number of characters in a page, because rows may be long. */
const pageLength = 4_000_000;

async function* onePage(rows: readonly AnswerRow[]): AsyncGenerator<readonly AnswerRow[]> {
  yield rows;
}

async function* pagesOf(
  first: readonly AnswerRow[],
  next: (rows: number) => Promise<{ readonly rows: readonly AnswerRow[] }>,
  stop: AbortSignal,
): AsyncGenerator<readonly AnswerRow[]> {
  let requestedRows = firstPageRows;
  for (let rows = first; rows.length > 0;) {
    if (stop.aborted) return;
    yield rows;
    if (rows.length < requestedRows) return;
    const length = rows.reduce((sum, row) => sum + lengthOf(row), 0);
    requestedRows = Math.max(1, Math.min(pageRows, Math.floor(pageLength / Math.max(1, length / rows.length))));
    rows = (await next(requestedRows)).rows;
  }
}

function lengthOf(row: AnswerRow): number {
  return row.reduce((sum, value) => sum + (value?.length ?? 0), 0);
}

/**
 * Declares an option of the driver that is missing in its types. With this option, more than one statement is an error.
 */
interface OneStatement extends QueryArrayConfig {
  readonly queryMode: 'extended';
}

const asText = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

function run(client: PoolClient, text: string): Promise<{ fields: readonly FieldDef[]; rows: readonly AnswerRow[] }> {
  const query: OneStatement = { text, rowMode: 'array', types: asText, queryMode: 'extended' };
  return client.query<(string | null)[]>(query);
}

/** Types that are numbers: int8, int2, int4, oid, float4, float8, numeric. */
const numberTypes = new Set([20, 21, 23, 26, 700, 701, 1700]);

function columnOf({ name, dataTypeID }: FieldDef): AnswerColumn {
  return { name, isNumber: numberTypes.has(dataTypeID) };
}

/**
 * SQLSTATE classes of errors caused by the statement: unsupported, cardinality, data, read-only, names, syntax and
 * rights, limits, functions.
 */
const ofTheStatement = /^(?:0A|21|22|24|25006|26|2F|34|38|39|3F|42|54|55000|58P|P0)/u;
const rightLacking = '42501';

/** @param prefix number of characters in front of the statement in the text that is sent */
async function refusing<T>(statement: string, prefix: number, sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (thrown) {
    if (!(thrown instanceof DatabaseError) || !ofTheStatement.test(thrown.code ?? '')) throw thrown;
    const { code = '', message, hint, position } = thrown;
    const where = position === undefined ? '' : formatPosition(statement, Number(position) - prefix);
    throw new IndexerError(`${message}${where} (SQLSTATE ${code})`, {
      code: 'QUERY_REFUSED',
      exitCode: code === rightLacking ? ExitCode.notPermitted : ExitCode.usage,
      remedy: hint ?? remedyOf(code),
      facts: { sqlstate: code },
    });
  }
}

function remedyOf(code: string): string {
  if (code === rightLacking) return 'connect as a role that may read it: see grant-reader';
  if (code === '25006') return 'use select: this command changes nothing';
  return `correct the statement; ${pageUrl('docs/reference/sql-schemas.md')} lists the views`;
}

/** @param position in characters, starting at 1 */
function formatPosition(statement: string, position: number): string {
  const before = Array.from(statement).slice(0, position - 1);
  if (position < 1 || before.length < position - 1) return '';
  const line = before.filter((character) => character === '\n').length + 1;
  return ` at line ${String(line)}, column ${String(before.length - before.lastIndexOf('\n'))}`;
}

// Scans the text of a statement in one pass, for its end and its first word.

export interface StatementText {
  /** The text up to the first semicolon. */
  readonly bare: string;
  /** First word in lower case, after any parentheses; empty if there is none. */
  readonly firstWord: string;
  /** Whether anything except white space and comments follows the first semicolon. */
  readonly more: boolean;
}

const word = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const layout = /[ \t\n\r\f\v]+/uy;
const toLineEnd = /[^\n\r]*/uy;
const dollarTag = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const commentMark = /\/\*|\*\//gu;

/** Scans the text as Postgres does: comments may be nested, and strings may contain anything. */
export function readStatement(text: string): StatementText {
  let firstWord: string | undefined;
  let end: number | undefined;
  for (let at = 0; at < text.length;) {
    const passed = afterLayout(text, at);
    if (passed > at) {
      at = passed;
    } else if (text[at] === ';') {
      end ??= at;
      at += 1;
    } else if (end !== undefined) {
      return { bare: text.slice(0, end), firstWord: firstWord ?? '', more: true };
    } else {
      const token = matchEnd(word, text, at);
      if (text[at] !== '(') firstWord ??= text.slice(at, token).toLowerCase();
      at = afterToken(text, at, token);
    }
  }
  return { bare: text.slice(0, end), firstWord: firstWord ?? '', more: false };
}

/** Position after white space or one comment, or `at` if neither begins there. */
function afterLayout(text: string, at: number): number {
  if (text.startsWith('--', at)) return matchEnd(toLineEnd, text, at);
  if (!text.startsWith('/*', at)) return matchEnd(layout, text, at);
  let depth = 0;
  commentMark.lastIndex = at;
  for (let mark = commentMark.exec(text); mark !== null; mark = commentMark.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return commentMark.lastIndex;
  }
  return text.length;
}

/** @param wordEnd end of the word that begins at `at`; `at` if no word begins there */
function afterToken(text: string, at: number, wordEnd: number): number {
  const isEscape = wordEnd === at + 1 && /e/iu.test(text[at] ?? '') && text[wordEnd] === "'";
  if (isEscape) return behindQuote(text, wordEnd + 1, /''|'|\\[\s\S]/gu);
  if (wordEnd > at) return wordEnd;
  if (text[at] === "'") return behindQuote(text, at + 1, /'/gu);
  if (text[at] === '"') return behindQuote(text, at + 1, /"/gu);
  const tagEnd = matchEnd(dollarTag, text, at);
  if (tagEnd === at) return at + 1;
  const closing = text.indexOf(text.slice(at, tagEnd), tagEnd);
  return closing < 0 ? text.length : closing + tagEnd - at;
}

/**
 * Position after the closing quote, or the end of the text if there is none. Outside of escape strings, a doubled quote
 * is treated as the end of one string and the start of another, which gives the same end position.
 * @param marks pattern of quotes, and of longer tokens that may contain a quote
 */
function behindQuote(text: string, at: number, marks: RegExp): number {
  marks.lastIndex = at;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0].length === 1) return marks.lastIndex;
  }
  return text.length;
}

function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
