/**
 * Runs one read-only statement of a user: checks its text, and returns its rows as text, page by page, without a limit
 * on their number.
 */
import {
  type ClientBase,
  type CustomTypesConfig,
  DatabaseError,
  type FieldDef,
  type PoolClient,
  type QueryArrayConfig,
} from 'pg';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { pageUrl } from '../../page-url.ts';
import type { Database } from '../connection/database.ts';
import { readersPath, readSchemas } from '../connection/read-schemas.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { readStatement } from './statement-text.ts';

export interface ResultColumn {
  readonly name: string;
  readonly isNumber: boolean;
}

/** Values as Postgres formats them; null stays null. */
export type ResultRow = readonly (string | null)[];

export interface QueryResult {
  /** There is only one column if each row is a JSON object. */
  readonly columns: readonly ResultColumn[];
  readonly isJson: boolean;
  /** Pages of rows. Iterate once, while `use` runs. */
  readonly pages: AsyncIterable<readonly ResultRow[]>;
}

/** The input of {@link ask}. */
export interface ReadQuery {
  /** One statement, without a semicolon at its end. */
  readonly statement: string;
  /** Whether its rows can be fetched page by page. `explain` and `show` return few rows. */
  readonly paged: boolean;
  /** Whether it returns a query plan. */
  readonly explains: boolean;
}

const withCursor = new Set(['select', 'with', 'values', 'table']);
const plainKeywords = new Set(['explain', 'show']);

/** Undefined if the text has more than one statement, or a statement of a kind that {@link ask} does not accept. */
export function questionOf(text: string): ReadQuery | undefined {
  const { bare: statement, firstWord: firstKeyword, more: hasMore } = readStatement(text);
  const isPaged = withCursor.has(firstKeyword);
  const explains = firstKeyword === 'explain';
  return !hasMore && (isPaged || plainKeywords.has(firstKeyword)) ? { statement, paged: isPaged, explains } : undefined;
}

export interface QueryOptions {
  /** Whether each row of a paged result is returned as a JSON object. */
  readonly asJson: boolean;
  /** Aborting cancels the statement on the server. */
  readonly stop: AbortSignal;
  /** Gives rights to the transaction before the statement runs, and returns a function that takes them away. */
  readonly admit?: Admit | undefined;
}

export type Admit = (client: ClientBase) => Promise<() => Promise<void>>;

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
  readQuery: ReadQuery,
  options: QueryOptions,
  use: (result: QueryResult) => Promise<void>,
): Promise<void> {
  return database.withClient(async (client) => {
    const path = `set local search_path to ${readersPath(readSchemas(database.schema))}`;
    await client.query(`begin transaction read only; ${planning}; ${path}`);
    const stopCancelling = await onAbort(database, client, options.stop);
    const dismiss = await options.admit?.(client);
    try {
      await use(await queryResultOf(client, readQuery, options));
    } finally {
      stopCancelling();
      await dismiss?.();
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

async function queryResultOf(
  client: PoolClient,
  { statement, paged: isPaged }: ReadQuery,
  { asJson, stop }: QueryOptions,
): Promise<QueryResult> {
  const runText = (text: string, prefix = 0) => withQueryErrors(statement, prefix, run(client, text));
  if (!isPaged) {
    const { fields, rows } = await runText(statement);
    return { columns: fields.map(columnOf), isJson: false, pages: singlePage(rows) };
  }
  const [before, after] = asJson ? ['select row_to_json(answer.*)::text from (', '\n) as answer'] : ['', ''];
  const declare = `declare answer no scroll cursor for ${before}`;
  await runText(`${declare}${statement}${after}`, declare.length);
  const next = (rows: number) => runText(`fetch ${String(rows)} from answer`);
  const first = await next(firstPageRows);
  return { columns: first.fields.map(columnOf), isJson: asJson, pages: pagesOf(first.rows, next, stop) };
}

/** The first page has few rows, because the length of the rows is not known yet. */
const firstPageRows = 10;
const pageRows = 1_000;
/** Intended number of characters in a page, because rows may be long. */
const pageLength = 4_000_000;

async function* singlePage(rows: readonly ResultRow[]): AsyncGenerator<readonly ResultRow[]> {
  yield rows;
}

async function* pagesOf(
  first: readonly ResultRow[],
  next: (rows: number) => Promise<{ readonly rows: readonly ResultRow[] }>,
  stop: AbortSignal,
): AsyncGenerator<readonly ResultRow[]> {
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

function lengthOf(row: ResultRow): number {
  return row.reduce((sum, value) => sum + (value?.length ?? 0), 0);
}

/**
 * Declares an option of the driver that is missing in its types. With this option, more than one statement is an error.
 */
interface ExtendedQuery extends QueryArrayConfig {
  readonly queryMode: 'extended';
}

const textParsers = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

function run(client: PoolClient, text: string): Promise<{ fields: readonly FieldDef[]; rows: readonly ResultRow[] }> {
  const query: ExtendedQuery = { text, rowMode: 'array', types: textParsers, queryMode: 'extended' };
  return client.query<(string | null)[]>(query);
}

/** Types that are numbers: int8, int2, int4, oid, float4, float8, numeric. */
const numberTypes = new Set([20, 21, 23, 26, 700, 701, 1700]);

function columnOf({ name, dataTypeID }: FieldDef): ResultColumn {
  return { name, isNumber: numberTypes.has(dataTypeID) };
}

/**
 * SQLSTATE classes of errors caused by the statement: unsupported, cardinality, data, read-only, names, syntax and
 * rights, limits, functions.
 */
const statementErrorStates = /^(?:0A|21|22|24|25006|26|2F|34|38|39|3F|42|54|55000|58P|P0)/u;
const missingRightState = '42501';

/**
 * Reports an error that the statement causes with the message of Postgres and the position in the statement.
 * @param prefix number of characters in front of the statement in the text that is sent
 * @throws IndexerError QUERY_REFUSED
 */
export async function withQueryErrors<T>(statement: string, prefix: number, pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (thrown) {
    if (!(thrown instanceof DatabaseError) || !statementErrorStates.test(thrown.code ?? '')) throw thrown;
    const { code = '', message, hint, position } = thrown;
    const positionText = position === undefined ? '' : formatPosition(statement, Number(position) - prefix);
    throw new IndexerError(`${message}${positionText} (SQLSTATE ${code})`, {
      code: 'QUERY_REFUSED',
      exitCode: code === missingRightState ? ExitCode.notPermitted : ExitCode.usage,
      remedy: hint ?? remedyOf(code),
      facts: { sqlstate: code },
    });
  }
}

function remedyOf(code: string): string {
  if (code === missingRightState) return 'connect as a role that may read it: see grant-reader';
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
