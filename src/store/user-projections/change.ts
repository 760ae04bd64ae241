/** Adds, changes, refills and drops projections of users. The migrator runs this. */
import { createHash } from 'node:crypto';
import { DatabaseError, escapeIdentifier, type ClientBase } from 'pg';
import { projectionNames } from '../../model/stream.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { derivedName, derivedSchema, readSchemas, versionName } from '../connection/read-schemas.ts';
import { toStoreError } from '../connection/store-error.ts';
import { allowReadAs } from '../roles/read-as.ts';
import { limitedRoles } from '../roles/secure-views.ts';
import type { Projection } from '../projections/projections.ts';
import { grantDerived, hideStoredRows } from './grants.ts';
import { createSelectObjects, refusalError, type Column } from './select-objects.ts';
import { trySelect, type TrialResult } from './trial.ts';

export interface UserSelect {
  readonly text: string;
  readonly readRole: string;
  readonly key: readonly string[];
  readonly indexes: readonly (readonly string[])[];
  readonly partyColumn: string | undefined;
  readonly looksUp: boolean;
}

export interface AddedProjection {
  readonly trial: TrialResult;
  /** Whether readers use the rows of the previous SELECT until those of the new one are stored. */
  readonly replaces: boolean;
}

const trialSeed = 42;

/**
 * Adds a projection, or a new version of it.
 * @throws IndexerError PROJECTION_REFUSED, QUERY_REFUSED, STORE_NOT_PERMITTED; errors of {@link trySelect}
 */
export function addProjection(database: Database, view: string, select: UserSelect): Promise<AddedProjection> {
  const storage = database.schema;
  return database.transaction(async (client) => {
    await begin(client, storage, select.readRole);
    const versions = await versionsOf(client, storage, view);
    const generation = 1 + Math.max(0, ...versions.map((version) => version.generation));
    const { columns, sources, trial } = await createVersion(client, storage, { view, generation, select });
    await storeVersion(client, { view, generation, select, sources });
    const current = versions.find(({ isFilled }) => isFilled);
    const kept = current !== undefined && (await hasColumns(client, storage, view, columns)) ? current : undefined;
    await createView(client, storage, view, {
      columns,
      generations: [...(kept === undefined ? [] : [kept.generation]), generation],
      isReplaced: kept !== undefined,
    });
    for (const version of versions) {
      if (version.generation !== kept?.generation) await dropVersion(client, storage, view, version.generation);
    }
    await grantDerived(client, storage);
    return { trial, replaces: kept !== undefined };
  });
}

/** Adds the current SELECT as a new version, so that its rows are stored again. */
export async function refillProjection(database: Database, view: string): Promise<AddedProjection> {
  return addProjection(database, view, await readSelect(database, view));
}

/** The newest SELECT of a projection. @throws IndexerError PROJECTION_NOT_FOUND */
export async function readSelect(database: Database, view: string): Promise<UserSelect> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<Omit<UserSelect, 'indexes' | 'partyColumn'> & StoredOptions>(
      `select select_text as text, read_role as "readRole", key_columns as key, index_columns as "indexColumns",
              party_column as "partyColumn", looks_up as "looksUp"
         from user_projections where name = $1 order by generation desc limit 1`,
      [view],
    );
    const [row] = rows;
    if (row === undefined) throw unknownError(view);
    const { indexColumns, partyColumn, ...rest } = row;
    return { ...rest, partyColumn: partyColumn ?? undefined, indexes: indexColumns.map((list) => list.split(',')) };
  });
}

interface StoredOptions {
  readonly indexColumns: readonly string[];
  readonly partyColumn: string | null;
}

/** Checks a SELECT and leaves nothing behind. */
export async function checkSelect(database: Database, select: UserSelect): Promise<TrialResult> {
  const storage = database.schema;
  return database.withClient(async (client) => {
    await client.query('begin');
    try {
      await begin(client, storage, select.readRole);
      // No projection has version 0, so the names of these objects are free.
      return (await createVersion(client, storage, { view: 'checked', generation: 0, select })).trial;
    } finally {
      await client.query('rollback');
    }
  });
}

/** Drops a projection with its view and rows. @throws IndexerError PROJECTION_NOT_FOUND, PROJECTION_REFUSED */
export async function dropProjection(database: Database, view: string): Promise<void> {
  const storage = database.schema;
  await database.transaction(async (client) => {
    await actAsOwner(client);
    const versions = await versionsOf(client, storage, view);
    if (versions.length === 0) throw unknownError(view);
    await assertNotDelivered(client, view);
    await dropView(client, storage, view);
    for (const { generation } of versions) await dropVersion(client, storage, view, generation);
  });
}

async function begin(client: ClientBase, storage: string, readRole: string): Promise<void> {
  await client.query(`set local lock_timeout = '5s'`);
  await assertReadRole(client, storage, readRole);
  await actAsOwner(client);
  await ensureSchema(client, storage);
}

async function assertReadRole(client: ClientBase, storage: string, readRole: string): Promise<void> {
  const { problem } = await allowReadAs(client, storage, readRole).catch((thrown: unknown) => {
    if (toStoreError(thrown).code !== 'STORE_NOT_PERMITTED') throw thrown;
    throw refusalError(
      `the writer may not read as role "${readRole}" yet`,
      'let an administrator of the database run the command once, or `ledger-indexer grant-roles`',
    );
  });
  if (problem !== null) throw refusalError(problem.found, problem.remedy);
  if (!(await limitedRoles(client, storage)).includes(readRole)) return;
  throw refusalError(
    `role "${readRole}" is limited to parties, so the rows would not be complete`,
    'name a role with --role that reads everything',
  );
}

/** Everything is created as the owner of the stream, who may be another role than the current one. */
async function actAsOwner(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ owner: string }>(
    `select pg_get_userbyid(relowner)::text as owner from pg_class
      where oid = 'contracts'::regclass and pg_get_userbyid(relowner) <> current_user`,
  );
  for (const { owner } of rows) await client.query(`set local role ${escapeIdentifier(owner)}`);
}

async function ensureSchema(client: ClientBase, storage: string): Promise<void> {
  const schema = derivedSchema(storage);
  const { rows } = await client.query<{ isOwn: boolean }>(
    `select pg_get_userbyid(nspowner) = current_user as "isOwn" from pg_namespace where nspname = $1`,
    [schema],
  );
  if (rows[0]?.isOwn === false) {
    throw refusalError(
      `schema "${schema}" belongs to another role than the tables of the stream`,
      `rename it: alter schema ${escapeIdentifier(schema)} rename to another name`,
    );
  }
  if (rows.length > 0) return;
  await client.query(`create schema ${escapeIdentifier(schema)}`);
  await client.query(`comment on schema ${escapeIdentifier(schema)} is 'Projections that users added.'`);
}

interface NewVersion {
  readonly view: string;
  readonly generation: number;
  readonly select: UserSelect;
}

interface CreatedVersion {
  readonly columns: readonly Column[];
  /** Built-in projections whose rows the SELECT reads. */
  readonly sources: readonly string[];
  readonly trial: TrialResult;
}

async function createVersion(
  client: ClientBase,
  storage: string,
  { view, generation, select }: NewVersion,
): Promise<CreatedVersion> {
  const name = versionName(view, generation);
  const { text, key, readRole, partyColumn } = select;
  const indexes = [...select.indexes, ...(partyColumn === undefined ? [] : [[partyColumn]])];
  const { columns, views } = await createSelectObjects(client, storage, { name, text, key, indexes });
  const sources = views.filter((source) => (projectionNames as readonly string[]).includes(source));
  await hideStoredRows(client, storage, name);
  await grantReadRole(client, storage, name, readRole);
  const trial = await trySelect(client, trialOf(storage, name), readRole, trialSeed);
  return { columns, sources, trial };
}

/** The role must be able to call the function during the trial. */
async function grantReadRole(client: ClientBase, storage: string, name: string, readRole: string): Promise<void> {
  const [schema, role] = [escapeIdentifier(derivedSchema(storage)), escapeIdentifier(readRole)];
  await client.query(`grant usage on schema ${schema} to ${role}`);
  await client.query(`grant execute on function ${derivedName(storage, name)}(bigint, bigint) to ${role}`);
}

function trialOf(storage: string, name: string): Projection {
  const table = derivedName(storage, name);
  const select = `select * from ${table}($1::bigint, $2::bigint)`;
  const user = { view: name, generation: 0, readRole: '', looksUp: false, isRetired: false };
  return { name, table, select, hash: '', isSummed: false, sources: [], user };
}

async function storeVersion(
  client: ClientBase,
  { view, generation, select, sources }: NewVersion & { readonly sources: readonly string[] },
): Promise<void> {
  const { text, readRole, key, indexes, partyColumn, looksUp } = select;
  const hash = createHash('sha256')
    .update(JSON.stringify([generation, select]))
    .digest('hex');
  const indexColumns = indexes.map((columns) => columns.join(','));
  await client.query(
    `insert into user_projections (name, generation, select_text, select_hash, read_role, looks_up, sources, key_columns,
                                   index_columns, party_column)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [view, generation, text, hash, readRole, looksUp, sources, key, indexColumns, partyColumn ?? null],
  );
}

interface StoredVersion {
  readonly generation: number;
  /** Whether readers use its rows. */
  readonly isFilled: boolean;
}

/**
 * Versions of a projection, the newest first. A database that gets a stream back may have tables of versions that are no
 * longer listed; readers do not use these.
 */
async function versionsOf(client: ClientBase, storage: string, view: string): Promise<readonly StoredVersion[]> {
  const { rows } = await client.query<StoredVersion>(
    `select v.generation, bool_or(v.is_filled) as "isFilled"
       from (select u.generation, coalesce(p.is_filled, false)
               from user_projections u left join projections p on p.view_name = u.name and p.generation = u.generation
              where u.name = $1
             union all
             select substring(c.relname from '[0-9]+$')::int, false
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname = $2 and c.relkind = 'r' and c.relname ~ ('^' || $1 || '\\$[0-9]{1,9}$')) v (generation, is_filled)
      group by v.generation order by v.generation desc`,
    [view, derivedSchema(storage)],
  );
  return rows;
}

/** Whether the view has these columns, so that it can unite the rows of both versions. */
async function hasColumns(
  client: ClientBase,
  storage: string,
  view: string,
  columns: readonly Column[],
): Promise<boolean> {
  const { rows } = await client.query<Column>(
    `select attname::text as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 order by attnum`,
    [derivedName(storage, view)],
  );
  return JSON.stringify(rows) === JSON.stringify(columns);
}

interface ViewParts {
  readonly columns: readonly Column[];
  /** Versions whose rows the view returns: the newest one that is filled. */
  readonly generations: readonly number[];
  readonly isReplaced: boolean;
}

async function createView(
  client: ClientBase,
  storage: string,
  view: string,
  { columns, generations, isReplaced }: ViewParts,
): Promise<void> {
  if (!isReplaced) await dropView(client, storage, view);
  const { explore, pqs } = readSchemas(storage);
  const names = generations.map((generation) => versionName(view, generation));
  const list = (alias: string): string => columns.map(({ name }) => `${alias}.${escapeIdentifier(name)}`).join(', ');
  const stored = names.map(
    (name) => `select ${list('p')} from ${derivedName(storage, name)} p
     where (select range_agg(r.stored) from unnest(${escapeIdentifier(explore)}.projected_ranges('${name}')) r (stored)) @> p."offset"`,
  );
  const newest = names.at(-1) ?? '';
  const computed = `select ${list('u')} from ${escapeIdentifier(pqs)}.__derived_rows(null::${derivedName(storage, newest)},
    array[${names.map((name) => `'${name}'`).join(', ')}]) u`;
  const { rows } = await client.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // Before Postgres 15, there are no readers limited to parties.
  const options = (rows[0]?.version ?? 0) < 150_000 ? '' : ' with (security_invoker = true)';
  const sqlName = derivedName(storage, view);
  await client.query(`create or replace view ${sqlName}${options} as ${[...stored, computed].join(' union all ')}`);
  // A replaced view keeps its comment, which may be one of the user.
  if (isReplaced) return;
  await client.query(
    `comment on view ${sqlName} is 'Projection that a user added; see ledger-indexer projection list.'`,
  );
}

async function dropView(client: ClientBase, storage: string, view: string): Promise<void> {
  try {
    await client.query(`drop view if exists ${derivedName(storage, view)}`);
  } catch (thrown) {
    if (!(thrown instanceof DatabaseError) || thrown.code !== '2BP01') throw thrown;
    throw refusalError(
      `other objects depend on view ${view}`,
      'drop them first, or add the projection under another name',
    );
  }
}

/** A webhook would wait for the rows indefinitely, and keep history from being pruned. */
async function assertNotDelivered(client: ClientBase, view: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select name from webhooks where projection = $1 order by name limit 1',
    [view],
  );
  const [webhook] = rows;
  if (webhook === undefined) return;
  throw refusalError(
    `webhook ${webhook.name} delivers the rows of ${view}`,
    `run \`ledger-indexer webhook remove ${webhook.name}\` first`,
  );
}

async function dropVersion(client: ClientBase, storage: string, view: string, generation: number): Promise<void> {
  const name = derivedName(storage, versionName(view, generation));
  await client.query('delete from projections where view_name = $1 and generation = $2', [view, generation]);
  await client.query('delete from user_projections where name = $1 and generation = $2', [view, generation]);
  await client.query(`drop function if exists ${name}(bigint, bigint)`);
  await client.query(`drop table if exists ${name}`);
}

function unknownError(view: string): IndexerError {
  return new IndexerError(`there is no projection ${view}`, { code: 'PROJECTION_NOT_FOUND' });
}
