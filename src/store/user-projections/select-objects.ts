/**
 * Creates the table and the function of a user's SELECT in schema `derived`. Postgres parses the text as one SELECT: as
 * the query of a view, in parentheses, and over the protocol that accepts only one statement. So the text is one
 * SELECT when it becomes the body of the function.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { derivedName, readSchemas, readersPath } from '../connection/read-schemas.ts';
import { withQueryErrors } from '../reads/answer.ts';
import { readStatement, replaceParameters } from '../reads/statement-text.ts';
import { checkTree } from './check-tree.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface SelectObjects {
  readonly columns: readonly Column[];
  /** Views of schema `explore` that the SELECT reads, directly or through others. */
  readonly views: readonly string[];
}

export interface SelectIndexes {
  /** Columns that identify a row, together with its offset. */
  readonly key: readonly string[];
  /** Columns of each further index; the offset is added to them. */
  readonly indexes: readonly (readonly string[])[];
}

/** Types that have an equality and a text form that Postgres reads again as the same value. */
const storableTypes: ReadonlySet<string> = new Set([
  'boolean',
  'smallint',
  'integer',
  'bigint',
  'numeric',
  'real',
  'double precision',
  'text',
  'uuid',
  'jsonb',
  'date',
  'interval',
  'timestamp with time zone',
  'timestamp without time zone',
  'time without time zone',
  'bytea',
]);
const maxColumns = 100;

/**
 * Creates table and function `name`. Runs in a transaction, as the owner of the stream.
 * @throws IndexerError QUERY_REFUSED for a text that Postgres refuses; PROJECTION_REFUSED for a SELECT that cannot be a
 * projection
 */
export async function createSelectObjects(
  client: ClientBase,
  storage: string,
  { name, text, key, indexes }: SelectIndexes & { readonly name: string; readonly text: string },
): Promise<SelectObjects> {
  const { bare, more } = readStatement(text);
  if (more) throw refusalError('the file has more than one statement', 'write one SELECT');
  await client.query(`set local search_path to ${readersPath(readSchemas(storage))}, pg_temp`);
  const columns = await columnsOf(client, storage, name, bare);
  assertColumns(columns, [...key, ...indexes.flat()]);
  const sqlName = derivedName(storage, name);
  await createTable(client, sqlName, columns, { key, indexes });
  const list = columns.map((column) => `r.${escapeIdentifier(column.name)}`).join(', ');
  await runOne(
    client,
    `create function ${sqlName}(bigint, bigint) returns setof ${sqlName} language sql stable parallel restricted
       begin atomic select ${list} from (`,
    replaceParameters(bare, limits('$1', '$2')),
    ') as r; end',
  );
  await client.query(`revoke execute on function ${sqlName}(bigint, bigint) from public`);
  return { columns, views: await checkedViews(client, storage, sqlName) };
}

function limits(from: string, to: string): ReadonlyMap<string, string> {
  return new Map([
    ['from', from],
    ['to', to],
  ]);
}

/** Adds a line break, because the text may end with a comment. */
async function runOne(client: ClientBase, before: string, text: string, after: string): Promise<void> {
  // The option of the driver is missing in its types. With it, more than one statement is an error.
  const statement = { text: `${before}\n${text}\n${after}`, queryMode: 'extended' };
  await withQueryErrors(text, before.length + 1, client.query(statement));
}

async function columnsOf(client: ClientBase, storage: string, name: string, text: string): Promise<readonly Column[]> {
  const sqlName = derivedName(storage, name);
  const allHistory = limits('(-1)::bigint', '9223372036854775807');
  await runOne(client, `create view ${sqlName} as select * from (`, replaceParameters(text, allHistory), ') as r');
  const { rows } = await client.query<Column>(
    `select attname::text as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = $1::regclass and attnum > 0 order by attnum`,
    [sqlName],
  );
  await client.query(`drop view ${sqlName}`);
  return rows;
}

function assertColumns(columns: readonly Column[], indexed: readonly string[]): void {
  if (columns.length > maxColumns) {
    throw refusalError(`the SELECT has more than ${String(maxColumns)} columns`, 'select fewer columns');
  }
  if (!columns.some(({ name, type }) => name === 'offset' && type === 'bigint')) {
    throw refusalError(
      'the SELECT has no column "offset" of type bigint',
      'select the offset at which the row happened, as "offset"',
    );
  }
  const badColumn = columns.find(({ type }) => !storableTypes.has(type.replace(/\[\]$/, '')));
  if (badColumn !== undefined) {
    throw refusalError(
      `column ${badColumn.name} has type ${badColumn.type}, which cannot be compared or stored here`,
      'cast it, for example to text or jsonb',
    );
  }
  const unknown = indexed.find((wanted) => !columns.some(({ name }) => name === wanted));
  if (unknown === undefined) return;
  throw refusalError(
    `the SELECT has no column ${unknown}`,
    'name columns of the SELECT in --key, --index and --party-column',
  );
}

async function createTable(
  client: ClientBase,
  sqlName: string,
  columns: readonly Column[],
  { key, indexes }: SelectIndexes,
): Promise<void> {
  const list = columns.map(
    ({ name, type }) => `${escapeIdentifier(name)} ${type}${name === 'offset' ? ' not null' : ''}`,
  );
  await client.query(`create table ${sqlName} (${list.join(', ')})`);
  // Without a replica identity, a publication could not send deleted rows.
  await client.query(`alter table ${sqlName} replica identity full`);
  const withOffset = (names: readonly string[]): string =>
    [...names.filter((name) => name !== 'offset'), 'offset'].map((name) => escapeIdentifier(name)).join(', ');
  await client.query(
    key.length === 0
      ? `create index on ${sqlName} ("offset")`
      : `create unique index on ${sqlName} ("offset", ${key.map((name) => escapeIdentifier(name)).join(', ')})`,
  );
  for (const names of indexes) await client.query(`create index on ${sqlName} (${withOffset(names)})`);
}

async function checkedViews(client: ClientBase, storage: string, sqlName: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ oid: string; limits: boolean }>(
    `select p.oid::text, p.prosqlbody::text ~ ':paramkind 0 :paramid 1 ' and p.prosqlbody::text ~ ':paramkind 0 :paramid 2 ' as limits
       from pg_proc p where p.oid = ($1 || '(bigint, bigint)')::regprocedure`,
    [sqlName],
  );
  const [row] = rows;
  if (row?.limits !== true) {
    throw refusalError(
      'the SELECT does not use both :from and :to',
      'restrict its rows: "offset" > :from and "offset" <= :to',
    );
  }
  await client.query(`select set_config('search_path', $1, true)`, [escapeIdentifier(storage)]);
  const { problems, views } = await checkTree(client, storage, row.oid);
  if (problems.length > 0) {
    throw refusalError(
      `the SELECT ${problems.slice(0, 5).join('; it ')}`,
      'use only views of the stream, and functions whose results depend only on their arguments',
    );
  }
  return views;
}

export function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'PROJECTION_REFUSED', remedy });
}
