/** Creates, reuses and removes the storage on another server that receives a stream. */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import type { ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { assertOwnSchemas } from '../roles/schema-owners.ts';
import { assertExerciseJson } from '../schema/exercise-json.ts';
import { migrate } from '../schema/migrations.ts';
import { increaseEpoch } from '../write/stream-row.ts';

/** Columns of the stream row about a handover. */
export interface HandoverState {
  readonly handover: 'filling' | 'handed over' | null;
  /** Label of the other database, see `databaseLabel`. */
  readonly peer: string | null;
}

/** The handover columns; undefined if there is no stream. */
export async function readHandoverState(database: Database): Promise<HandoverState | undefined> {
  return database.withClient(async (client) => {
    const table = `${escapeIdentifier(database.schema)}.stream`;
    const tableCheck = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
    if (tableCheck.rows[0]?.there !== true) return undefined;
    const { rows } = await client.query<HandoverState>(`select handover, handover_peer as peer from ${table}`);
    return rows[0];
  });
}

/** The comment on a schema that was created for a handover. It stays until the handover is done. */
function schemaComment(source: string): string {
  return `Storage filled by "ledger-indexer rebuild --into" from ${source}; may be dropped when none runs.`;
}

/** Whether a rebuild from this source created the schema. Such a schema is dropped if the rebuild is cancelled. */
export async function isCreatedByRebuild(client: ClientBase, schema: string, source: string): Promise<boolean> {
  const { rows } = await client.query<{ note: string | null }>(
    `select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = $1`,
    [schema],
  );
  return rows[0]?.note === schemaComment(source);
}

/**
 * Creates the schema with everything that readers use, or reuses a schema that holds no stream yet.
 * @throws IndexerError SCHEMA_EXERCISE_JSON, SCHEMA_OWNER_MISMATCH, STORE_NOT_PERMITTED
 */
export async function prepareTarget(target: Database, source: string, exerciseJson: ExerciseJson): Promise<void> {
  const { schema } = target;
  await target.withClient((client) => assertOwnSchemas(client, schema));
  await target.transaction(async (client) => {
    const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema]);
    if (rowCount !== 0) return;
    await client.query(`create schema ${escapeIdentifier(schema)}`);
    await client.query(`comment on schema ${escapeIdentifier(schema)} is ${escapeLiteral(schemaComment(source))}`);
  });
  await migrate(target, { exerciseJson });
  await assertExerciseJson(target, exerciseJson);
}

/**
 * For a storage that was itself handed over earlier. Records that the database which received it now fills it again.
 */
export async function fillAgain(target: Database): Promise<void> {
  await target.transaction(async (client) => {
    await increaseEpoch(client, undefined);
    await client.query(`update stream set handover = 'filling' where handover = 'handed over'`);
  });
}

/** Removes everything that was created for the handover; objects that existed before are kept. */
export async function discardTarget(target: Database, source: string): Promise<void> {
  await target.transaction(async (client) => {
    const { schema } = target;
    if (await isCreatedByRebuild(client, schema, source)) return dropTarget(client, schema);
    await client.query(
      `update stream set handover = 'handed over'
        where handover = 'filling' and exists (select from jobs where name = 'rebuild' and state = 'done')`,
    );
  });
}

async function dropTarget(client: ClientBase, schema: string): Promise<void> {
  const names = Object.values(readSchemas(schema)).map((name) => escapeIdentifier(name));
  await client.query(`drop schema if exists ${names.join(', ')} cascade`);
}
