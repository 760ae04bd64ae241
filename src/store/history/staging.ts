/**
 * Staging schemas next to the schema of the stream. They hold active contracts after a gap or under an extended filter,
 * or contracts with a view of an interface that was added later. A staging schema has only the storage tables, and
 * readers cannot read it. The transaction that merges its rows also drops it.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { assertMigrated, migrate, migrationFiles, type Migration } from '../schema/migrations.ts';
import { assertOwnSchemas } from '../roles/schema-owners.ts';
import { readStream, refusalError, type StreamFacts } from './maintenance.ts';
import { removeRedacted } from './staged-rows.ts';

/**
 * Purpose of the staging schema: the command `reseed`, or a job of the indexer for interfaces added later or for an
 * extended filter.
 */
export type StagingKind = 'reseed' | 'interfaces' | 'filter_extend';

/** Name of a staging schema of a stream. */
export function stagingSchema(schema: string, stagingKind: StagingKind): string {
  return `${schema}_${stagingKind}`;
}

const contents = {
  reseed: 'Active contracts staged by "ledger-indexer reseed"',
  interfaces: 'Views of interfaces staged by an indexer',
  filter_extend: 'Active contracts of an extended filter staged by an indexer',
} as const satisfies Record<StagingKind, string>;

function stagingComment(schema: string, stagingKind: StagingKind): string {
  return `${contents[stagingKind]} for schema ${schema}; may be dropped when none runs.`;
}

/** The state of an interrupted run that a later run can resume. */
export interface StagingSpec {
  readonly identity: StreamIdentity;
  /**
   * Lists of contracts active at an earlier offset cannot be used. This is the checkpoint, or the offset up to which
   * updates have been pruned since.
   */
  readonly notBefore: number;
  /**
   * Set if updates follow the seed. A staging schema that has reached this offset can then be resumed, even if it began
   * at a different offset.
   */
  readonly pruned?: number;
}

/**
 * Creates the staging schema, or reuses the schema of an interrupted run if it is suitable.
 * @param staging a database handle whose schema is `stagingSchema`
 * @throws IndexerError RESEED_REFUSED, INTERFACE_BACKFILL_REFUSED or FILTER_EXTEND_REFUSED if a foreign schema of that
 * name exists, SCHEMA_OWNER_MISMATCH if the schema belongs to another owner
 */
export async function prepareStaging(
  staging: Database,
  schema: string,
  stagingKind: StagingKind,
  spec: StagingSpec,
): Promise<void> {
  await staging.withClient((client) => assertOwnSchemas(client, staging.schema));
  const files = await migrationFiles();
  // If a run was interrupted while it created its tables, nothing is staged and its stream row cannot be read.
  const existingStream = (await hasAllTables(staging, files))
    ? await readLeftoverStream(staging, stagingComment(schema, stagingKind))
    : undefined;
  await staging.transaction(async (client) => {
    if (existingStream === undefined || !canResume(existingStream, spec))
      await dropStaging(client, schema, stagingKind);
    await claimSchema(client, staging.schema, schema, stagingKind);
  });
  // Only the storage tables are created, because no client reads this schema.
  await migrate(staging, { files });
  await staging.transaction(async (client) => {
    // These tables are copied so that redacted contents stay removed.
    for (const table of ['redactions', 'redacted_contracts', 'redacted_exercises'] as const) {
      const tables = tablesOf(client);
      await tables.deleteFrom(table).execute();
      const sourceRows = tables.withSchema(schema).selectFrom(table).selectAll();
      await tables.insertInto(table).expression(sourceRows).execute();
    }
    // Rows that an interrupted run has staged may also contain redacted contents.
    await removeRedacted(client, escapeIdentifier(staging.schema));
  });
}

/**
 * Creates the schema. An existing schema is reused if it has our comment, or if it is empty because an administrator
 * created it for us.
 */
async function claimSchema(client: ClientBase, name: string, schema: string, stagingKind: StagingKind): Promise<void> {
  const existingComment = await commentOf(client, name);
  if (existingComment === undefined) await client.query(`create schema ${escapeIdentifier(name)}`);
  else if (existingComment !== stagingComment(schema, stagingKind) && !(await isEmpty(client, name))) {
    const remedy = `rename it, or drop it if it is not needed: drop schema "${name}" cascade`;
    throw refusalError(stagingKind, `schema "${name}" is in the way and was not made by this program`, remedy);
  }
  await client.query(
    `comment on schema ${escapeIdentifier(name)} is ${escapeLiteral(stagingComment(schema, stagingKind))}`,
  );
}

async function isEmpty(client: ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ empty: boolean }>(
    `select not exists (select from pg_class where relnamespace = n.oid)
        and not exists (select from pg_proc where pronamespace = n.oid)
        and not exists (select from pg_type where typnamespace = n.oid) as empty
       from pg_namespace n where n.nspname = $1 and pg_has_role(n.nspowner, 'usage')`,
    [name],
  );
  return rows[0]?.empty === true;
}

/** Whether all tables exist in the version of this program. */
async function hasAllTables(staging: Database, files: readonly Migration[]): Promise<boolean> {
  try {
    await assertMigrated(staging, files);
    return true;
  } catch (thrown) {
    if (toIndexerError(thrown).code !== 'SCHEMA_OUTDATED') throw thrown;
    return false;
  }
}

/** The stream row of an interrupted run; undefined if there is none. @param expectedComment the comment on its schema */
async function readLeftoverStream(staging: Database, expectedComment: string): Promise<StreamFacts | undefined> {
  const leftoverStream = await staging.withClient(async (client) => {
    const name = `${escapeIdentifier(staging.schema)}.stream`;
    const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [name]);
    return rows[0]?.there === true && (await commentOf(client, staging.schema)) === expectedComment;
  });
  return leftoverStream ? readStream(staging) : undefined;
}

function canResume(existingStream: StreamFacts, { identity, notBefore: minOffset, pruned }: StagingSpec): boolean {
  const { seeded, seedOffset, checkpoint, filterHash, participantId } = existingStream;
  if (filterHash !== identity.filterHash || participantId !== (identity.participantId ?? null)) return false;
  if (pruned !== undefined && seeded && checkpoint !== null) return checkpoint >= pruned;
  return seedOffset === null || seedOffset >= minOffset;
}

/** Drops the staging schema if it exists. Runs in the caller's transaction. */
export async function dropStaging(client: ClientBase, schema: string, stagingKind: StagingKind): Promise<void> {
  const name = stagingSchema(schema, stagingKind);
  if ((await commentOf(client, name)) !== stagingComment(schema, stagingKind)) return;
  await client.query(`drop schema ${escapeIdentifier(name)} cascade`);
}

/** The comment on a schema, empty if it has none; undefined if there is no such schema. */
async function commentOf(client: ClientBase, schema: string): Promise<string | undefined> {
  const { rows } = await client.query<{ note: string | null }>(
    `select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = $1`,
    [schema],
  );
  return rows.length === 0 ? undefined : (rows[0]?.note ?? '');
}
