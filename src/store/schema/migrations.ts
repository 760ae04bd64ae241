/**
 * Brings a schema to the state that this program expects. Migrations are numbered SQL files and cannot be reverted.
 * Each migration runs in its own transaction, which also adds its row to `schema_migrations`. Several migrators may
 * start at the same time. A transaction-level advisory lock lets one of them work, and the others then have nothing
 * left to do. A schema is never changed if it is newer than the program, or if it has a layout from before these
 * migrations.
 */
import { readFile, readdir } from 'node:fs/promises';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { PoolClient, QueryConfig } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import type { ExerciseJson } from '../../model/tables.ts';
import { migrationStep } from '../connection/short-transaction.ts';
import { distribute, type Distribution } from './distribution.ts';
import { setExerciseJsonSql } from './exercise-json.ts';
import { createReadSchemas, hasReadSide, createReadSide, describeReadSide, buildReadSideScript } from './read-side.ts';
import { pageUrl } from '../../page-url.ts';
import { ownerCheckSql, refuseOtherStreams, assertOwnSchemas } from '../roles/schema-owners.ts';

/**
 * One migration. `id` is the name of the file without `.sql`; `sql` is any number of statements with unqualified names.
 */
export interface Migration {
  readonly id: string;
  readonly sql: string;
}

const directory = new URL('../../../migrations/', import.meta.url);
const fileName = /^\d{4}_[a-z0-9_]+\.sql$/;
/** Creating an index on a large table takes long, and the driver cannot disable its time limit for a single query. */
const migrationLimitMs = 24 * 60 * 60 * 1000;

const createMigrationsTable = `create table schema_migrations (
  id text primary key,
  applied_at timestamptz not null default now()
)`;

/** All migrations shipped with this program, in order. */
export async function migrationFiles(): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => fileName.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({
      id: name.slice(0, -'.sql'.length),
      sql: await readFile(new URL(name, directory), 'utf8'),
    })),
  );
}

export interface MigrateOptions {
  /** These files are used instead of all shipped migrations. In this case the read side is not created. */
  readonly files?: readonly Migration[] | undefined;
  /** How new tables store arguments and results of exercises; `jsonb` by default. */
  readonly exerciseJson?: ExerciseJson | undefined;
  /**
   * How to distribute new tables over the workers of Citus. If omitted, new tables are distributed like existing
   * tables. If there are no existing tables, new tables are not distributed.
   */
  readonly distribution?: Distribution | undefined;
}

/**
 * Creates the schema if it is missing, and applies pending migrations. Returns the ids of the migrations that this call
 * applied, in order.
 * @throws IndexerError `SCHEMA_NEWER`, `SCHEMA_LAYOUT_UNSUPPORTED`, `SCHEMA_OWNER_MISMATCH` (all fatal),
 * `CITUS_REFUSED`, `STORE_NOT_PERMITTED`, or the error of a migration
 */
export async function migrate(
  database: Database,
  { files, exerciseJson = 'jsonb', distribution }: MigrateOptions = {},
): Promise<readonly string[]> {
  const migrationList = files ?? (await migrationFiles());
  const ownAppliedIds = await withMigrationLock(database, async (client) => {
    const before = await readAppliedIds(client, database.schema);
    refuseEarlierLayout(database.schema, before, migrationList);
    if (before.size === 0) await refuseOtherStreams(client, database.schema);
    if (migrationList.some(({ id }) => !before.has(id))) await assertOwnSchemas(client, database.schema);
    await createMissing(client, database.schema);
    return before;
  });
  refuseNewer(database.schema, ownAppliedIds, migrationList);
  const ownIds: string[] = [];
  const distributeLocked = (next?: string) =>
    withMigrationLock(database, (client) => distribute(client, distribution, next));
  for (const file of migrationList) {
    if (ownAppliedIds.has(file.id)) continue;
    await distributeLocked(file.id);
    if (await withMigrationLock(database, (client) => applyOne(client, database.schema, file, exerciseJson)))
      ownIds.push(file.id);
  }
  if (distribution !== undefined || ownIds.length > 0) await distributeLocked();
  // Tests apply only some of the migrations, but the views and functions need all of them.
  if (files === undefined) await createViews(database, migrationList);
  return ownIds;
}

/** @throws IndexerError `SCHEMA_NEWER` if a newer program has migrated the schema in the meantime */
async function createViews(database: Database, known: readonly Migration[]): Promise<void> {
  const { schema } = database;
  const step = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    withMigrationLock(database, async (client) => {
      refuseNewer(schema, await readIds(client, schema), known);
      return work(client);
    });
  const isCreated = await step((client) => createReadSide(client, schema));
  if (isCreated) await step((client) => describeReadSide(client, schema));
}

/**
 * Checks, without changing anything, that the schema is exactly what this program expects.
 * @throws IndexerError `SCHEMA_OUTDATED`, `SCHEMA_NEWER` or `SCHEMA_LAYOUT_UNSUPPORTED`, all fatal
 */
export async function assertMigrated(database: Database, files?: readonly Migration[]): Promise<void> {
  const migrationList = files ?? (await migrationFiles());
  const appliedBefore = await database.withClient((client) => readAppliedIds(client, database.schema));
  refuseEarlierLayout(database.schema, appliedBefore, migrationList);
  refuseNewer(database.schema, appliedBefore, migrationList);
  const pending = migrationList.filter(({ id }) => !appliedBefore.has(id)).map(({ id }) => id);
  const views = files !== undefined || (await database.withClient((client) => hasReadSide(client, database.schema)));
  if (!views) pending.push('the views and functions for readers');
  if (pending.length === 0) return;
  throw new IndexerError(`schema "${database.schema}" lacks ${pending.length} migration(s): ${pending.join(', ')}`, {
    code: 'SCHEMA_OUTDATED',
    facts: { schema: database.schema, pending: pending.length },
  });
}

/**
 * Checks with one statement that every applied migration is one of these.
 * @throws IndexerError `SCHEMA_NEWER`, fatal
 */
export async function assertNotNewer(database: Database, known: readonly Migration[]): Promise<void> {
  refuseNewer(database.schema, await database.withClient((client) => readIds(client, database.schema)), known);
}

/**
 * Prints everything that `migrate` would do to an empty database, as one SQL transaction for psql. It needs no
 * connection.
 */
export async function printMigrations(
  schema: string,
  { files, exerciseJson = 'jsonb' }: MigrateOptions = {},
): Promise<string> {
  const migrationList = files ?? (await migrationFiles());
  const name = escapeIdentifier(schema);
  const steps = migrationList.map(
    ({ id, sql }) => `-- ${id}\ninsert into schema_migrations (id) values (${escapeLiteral(id)});\n\n${sql.trim()}\n`,
  );
  return [
    '-- For a new schema. Run with: psql --set ON_ERROR_STOP=1 --file <this file>',
    'begin;',
    // This statement comes before any statement that refers to a name in one of the schemas.
    `create schema if not exists ${name};`,
    files === undefined ? createReadSchemas(schema) : '',
    ownerCheckSql(schema),
    `set local search_path to ${name};`,
    setExerciseJsonSql(exerciseJson),
    `${createMigrationsTable};\n`,
    ...steps,
    // The migrations that the caller passes may not create all tables that the read side needs.
    files === undefined ? await buildReadSideScript(schema) : '',
    'commit;\n',
  ].join('\n');
}

/**
 * Runs `work` in a transaction that holds the migration lock of this schema. The lock ends with the transaction, so
 * that it cannot remain in a session of a pooler.
 */
function withMigrationLock<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const begin = async (client: PoolClient): Promise<void> => {
    // The isolation level is read committed, because changes of the previous holder of the lock must be visible after
    // the lock is granted.
    await client.query(
      `set transaction isolation level read committed; set local statement_timeout = 0; set local lock_timeout = '10min'`,
    );
    await client.query(
      withMigrationTimeout('select pg_advisory_xact_lock(hashtext($1))', [`ledger_indexer:${database.schema}`]),
    );
    await client.query(`set local search_path to ${escapeIdentifier(database.schema)}`);
  };
  // If a migration waits for a lock on a table, all later readers of the table wait too.
  return migrationStep(database, begin, work);
}

/**
 * Checks whether the object exists first, because `if not exists` requires the right to create even if the object
 * exists.
 */
async function createMissing(client: PoolClient, schema: string): Promise<void> {
  const schemaResult = await client.query('select from pg_namespace where nspname = $1', [schema]);
  if (schemaResult.rowCount === 0) await client.query(`create schema ${escapeIdentifier(schema)}`);
  if (!(await hasMigrationsTable(client, schema))) await client.query(createMigrationsTable);
}

async function hasMigrationsTable(client: PoolClient, schema: string): Promise<boolean> {
  const tableResult = await client.query('select from pg_tables where schemaname = $1 and tablename = $2', [
    schema,
    'schema_migrations',
  ]);
  return tableResult.rowCount === 1;
}

async function readAppliedIds(client: PoolClient, schema: string): Promise<ReadonlySet<string>> {
  return (await hasMigrationsTable(client, schema)) ? readIds(client, schema) : new Set();
}

async function readIds(client: PoolClient, schema: string): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `select id from ${escapeIdentifier(schema)}.schema_migrations order by id`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Resolves to false if another migrator has already applied it. */
async function applyOne(
  client: PoolClient,
  schema: string,
  { id, sql }: Migration,
  exerciseJson: ExerciseJson,
): Promise<boolean> {
  if ((await readAppliedIds(client, schema)).has(id)) return false;
  await client.query(setExerciseJsonSql(exerciseJson));
  await client.query('insert into schema_migrations (id) values ($1)', [id]);
  await client.query(withMigrationTimeout(sql));
  return true;
}

function withMigrationTimeout(text: string, values?: readonly string[]): QueryConfig & { query_timeout: number } {
  // If there are no values, the driver uses the simple protocol, which is the only protocol that accepts several
  // statements.
  return { text, query_timeout: migrationLimitMs, ...(values === undefined ? {} : { values: [...values] }) };
}

/**
 * Refuses a layout from before version 1.0, when migrations were still rewritten. In such a schema, a migration has a
 * known number but a different name.
 */
function refuseEarlierLayout(
  schema: string,
  appliedMigrations: ReadonlySet<string>,
  knownMigrations: readonly Migration[],
): void {
  const ids = new Set(knownMigrations.map(({ id }) => id));
  const numbers = new Set(knownMigrations.map(({ id }) => numberOf(id)));
  const earlierIds = [...appliedMigrations].filter((id) => !ids.has(id) && numbers.has(numberOf(id)));
  if (earlierIds.length === 0) return;
  throw new IndexerError(
    `schema "${schema}" holds the tables of an earlier layout (migrations ${earlierIds.join(', ')}), which this program cannot convert`,
    {
      code: 'SCHEMA_LAYOUT_UNSUPPORTED',
      remedy:
        'set POSTGRES_SCHEMA to a new name, which is seeded from the ledger; the version that filled the old schema still reads it, and it may be dropped later',
      facts: { schema },
    },
  );
}

const numberOf = (id: string): string => id.slice(0, 4);

function refuseNewer(
  schema: string,
  appliedMigrations: ReadonlySet<string>,
  knownMigrations: readonly Migration[],
): void {
  const ids = new Set(knownMigrations.map(({ id }) => id));
  const unknownIds = [...appliedMigrations].filter((id) => !ids.has(id));
  if (unknownIds.length === 0) return;
  throw new IndexerError(`schema "${schema}" holds migrations this program does not know: ${unknownIds.join(', ')}`, {
    code: 'SCHEMA_NEWER',
    remedy: `run the version that migrated this schema, or a later one; to return to this version, restore the backup made before the upgrade: ${pageUrl('docs/how-to/run/upgrade.md')}`,
    facts: { schema, unknown: unknownIds.length },
  });
}
