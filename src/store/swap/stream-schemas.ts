/**
 * Handles the schemas of one stream. There are up to three: the live schema, the next schema, which is being filled,
 * and the previous schema, which was live before the last swap. A comment on a schema identifies it as ours.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../connection/database.ts';
import { assertOwnSchemas } from '../roles/schema-owners.ts';
import { migrate, migrationFiles } from '../schema/migrations.ts';

/** A storage that is not live. It is the next storage or the previous storage. */
export type OtherSchema = 'next' | 'previous';

/** Name of the schema of the next or previous storage. */
export function otherSchemaName(schema: string, other: OtherSchema): string {
  return `${schema}_${other}`;
}

/** Comment on the schema of the next or previous storage. */
export function otherSchemaComment(schema: string, other: OtherSchema): string {
  return other === 'next'
    ? `Storage filled by "ledger-indexer rebuild" to take the place of schema ${schema}; may be dropped when none runs.`
    : `Schema ${schema} before the last "ledger-indexer rebuild"; "ledger-indexer rebuild --drop-previous --yes" deletes it.`;
}

/**
 * Whether the next or previous storage exists.
 * @throws IndexerError REBUILD_REFUSED if a schema of this name exists but was not created by this program
 */
export async function schemaExists(client: ClientBase, schema: string, other: OtherSchema): Promise<boolean> {
  const name = otherSchemaName(schema, other);
  const { rows } = await client.query<{ note: string | null }>(
    `select obj_description(oid, 'pg_namespace') as note from pg_namespace where nspname = $1`,
    [name],
  );
  if (rows[0] === undefined) return false;
  if (rows[0].note === otherSchemaComment(schema, other)) return true;
  throw rebuildRefusedError(
    `schema "${name}" is in the way and was not made by this program`,
    `rename it, or drop it if it is not needed: drop schema "${name}" cascade`,
  );
}

/** Creates the schema and the tables of the next storage, or reuses those of an interrupted run. */
export async function prepareNextSchema(next: Database, schema: string, exerciseJson: ExerciseJson): Promise<void> {
  await next.withClient((client) => assertOwnSchemas(client, next.schema));
  const hasNext = await next.withClient((client) => schemaExists(client, schema, 'next'));
  if (!hasNext) {
    await next.transaction(async (client) => {
      const name = escapeIdentifier(next.schema);
      await client.query(`create schema ${name}`);
      await client.query(`comment on schema ${name} is ${escapeLiteral(otherSchemaComment(schema, 'next'))}`);
    });
  }
  // Only the storage tables are created, because no client reads this schema before the swap.
  await migrate(next, { files: await migrationFiles(), exerciseJson });
}

/**
 * Drops the schema with all its contents. @throws IndexerError REBUILD_REFUSED if this program did not create the
 * schema
 */
export async function dropOtherSchema(client: ClientBase, schema: string, other: OtherSchema): Promise<void> {
  if (!(await schemaExists(client, schema, other))) return;
  await client.query(`drop schema ${escapeIdentifier(otherSchemaName(schema, other))} cascade`);
}

/** The error for a rebuild that is refused, with its remedy. */
export function rebuildRefusedError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'REBUILD_REFUSED', remedy });
}
