/**
 * Storage type of the arguments and results of exercises. It is chosen when the tables are created. It is recorded only
 * as the type of the columns, so there can be no contradiction.
 */
import { escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { columnTypes, type ColumnTypes, type ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../connection/database.ts';

/** SQL that sets the type for migrations of this transaction. Without it, the tables use jsonb. */
export function setExerciseJsonSql(type: ExerciseJson): string {
  return `set local ledger_indexer.exercise_json to ${escapeLiteral(type)};`;
}

/** The type in the tables of the search path; undefined if there are no tables. */
export async function storedExerciseJson(client: ClientBase): Promise<ExerciseJson | undefined> {
  const { rows } = await client.query<{ type: ExerciseJson }>(
    `select format_type(atttypid, null) as type from pg_attribute
      where attrelid = to_regclass('exercises') and attname = 'argument'`,
  );
  return rows[0]?.type;
}

/** The column types for which rows are encoded. */
export async function storedColumnTypes(client: ClientBase): Promise<ColumnTypes> {
  return columnTypes((await storedExerciseJson(client)) ?? 'jsonb');
}

/**
 * Checks that existing tables use the configured type. Without a configured type, any type is accepted.
 * @throws IndexerError `SCHEMA_EXERCISE_JSON`, fatal
 */
export async function assertExerciseJson(database: Database, configuredType: ExerciseJson | undefined): Promise<void> {
  if (configuredType === undefined) return;
  const exerciseJson = await database.withClient(storedExerciseJson);
  if (exerciseJson === undefined || exerciseJson === configuredType) return;
  throw new IndexerError(
    `schema "${database.schema}" stores arguments and results of exercises as ${exerciseJson}, and INDEXER_EXERCISE_JSON is ${configuredType}`,
    {
      code: 'SCHEMA_EXERCISE_JSON',
      remedy: `remove INDEXER_EXERCISE_JSON or set it to ${exerciseJson}; for ${configuredType}, rebuild the schema: ledger-indexer rebuild`,
      facts: { schema: database.schema, stored: exerciseJson, wanted: configuredType },
    },
  );
}
