/**
 * `ledger-indexer migrate`: brings the schema up to date and says what it did, or prints the SQL for somebody who is
 * allowed to run it. Needs the database only, no ledger.
 */
import { loadConfig } from '../../config/config.ts';
import type { Command } from '../command-line/command.ts';
import { withAnyDatabase } from '../database/with-database.ts';

const opening = {
  command: 'migrate',
  remedy: 'name the database, or use --print to see the SQL',
  statementTimeoutMs: 60_000,
};

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'bring the schema up to date; --print shows the SQL instead',
  does: ['Applies the migrations that are missing, each in a transaction. Any number may run at once.'],
  operands: [],
  flags: [{ name: 'print', doc: 'the whole schema as one SQL transaction; needs no database' }],
  examples: ['migrate', 'migrate --print > schema.sql'],
  exits: [
    [69, 'the database cannot be reached'],
    [77, 'the role may not create what is missing'],
    [78, 'a newer version migrated this schema, or it is not made as INDEXER_EXERCISE_JSON says'],
  ],
  /** @throws IndexerError as `checkServer` and `migrate` do */
  run: async ({ given, env, write }) => {
    const config = loadConfig(given.options, env);
    const { schema } = config.database;
    const { exerciseJson } = config.indexer;
    const { migrate, printMigrations } = await import('../../store/schema/migrations.ts');
    if (given.has('print')) return write(await printMigrations(schema, { exerciseJson }));
    return withAnyDatabase(config, opening, async (database) => {
      const { checkServer } = await import('../../store/connection/server-check.ts');
      const { assertExerciseJson } = await import('../../store/schema/exercise-json.ts');
      await checkServer(database);
      const applied = await migrate(database, { exerciseJson });
      await assertExerciseJson(database, exerciseJson);
      for (const id of applied) write(`applied ${id}\n`);
      if (applied.length === 0) write(`schema "${schema}" is up to date\n`);
    });
  },
};
