/**
 * How arguments and results of exercises are stored. It is chosen when the tables are made, and the type of their columns
 * is all that notes it: no other record could say something else.
 */
import { escapeLiteral } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { columnTypes, type ColumnTypes, type ExerciseJson } from '../../model/tables.ts';
import type { Database } from '../connection/database.ts';

/** For migrations of this transaction: how the tables are to be made. Without it they are made for jsonb. */
export function exerciseJsonWanted(type: ExerciseJson): string {
  return `set local ledger_indexer.exercise_json to ${escapeLiteral(type)};`;
}

/** How the tables of the search path store them; undefined where there are none. */
export async function storedExerciseJson(client: ClientBase): Promise<ExerciseJson | undefined> {
  const { rows } = await client.query<{ type: ExerciseJson }>(
    `select format_type(atttypid, null) as type from pg_attribute
      where attrelid = to_regclass('exercises') and attname = 'argument'`,
  );
  return rows[0]?.type;
}

/** The types of the columns that rows are encoded for. */
export async function storedColumnTypes(client: ClientBase): Promise<ColumnTypes> {
  return columnTypes((await storedExerciseJson(client)) ?? 'jsonb');
}

/**
 * Checks that a database with tables stores them as the configuration says; one that says nothing takes what is there.
 * @throws IndexerError `SCHEMA_EXERCISE_JSON`, fatal
 */
export async function assertExerciseJson(database: Database, wanted: ExerciseJson | undefined): Promise<void> {
  if (wanted === undefined) return;
  const stored = await database.withClient(storedExerciseJson);
  if (stored === undefined || stored === wanted) return;
  throw new IndexerError(
    `schema "${database.schema}" stores arguments and results of exercises as ${stored}, and INDEXER_EXERCISE_JSON says ${wanted}`,
    {
      code: 'SCHEMA_EXERCISE_JSON',
      remedy: `leave INDEXER_EXERCISE_JSON out or set it to ${stored}; for ${wanted} make the storage anew: ledger-indexer rebuild`,
      facts: { schema: database.schema, stored, wanted },
    },
  );
}
