/**
 * `ledger-indexer migrate`: migrates the schema and prints the applied migrations, or prints the SQL so that a user
 * with the necessary rights can run it. It needs only the database.
 */
import { loadConfig } from '../../config/config.ts';
import type { Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import type { Database } from '../../store/connection/database.ts';
import type { Distribution } from '../../store/schema/distribution.ts';
import { withAnyDatabase } from '../database/with-database.ts';

/** Each shard needs a connection, a plan and files on a worker. */
const maxShards = 1024;
const usage = 'ledger-indexer migrate --citus [--shards N]';

const openOptions = {
  command: 'migrate',
  feature: 'migrate',
  remedy: 'set DATABASE_URL, or use --print to print the SQL',
  statementTimeoutMs: 60_000,
} as const;

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'migrate the schema to this version, or print the SQL with --print',
  does: [
    'Applies missing migrations, each in a transaction. Several commands may run concurrently.',
    'With --citus, the tables of a new schema are distributed over the Citus workers; later calls detect this.',
  ],
  operands: [],
  flags: [
    { name: 'print', doc: 'print the complete schema as one SQL transaction; needs no database' },
    { name: 'citus', doc: 'distribute the tables of a new schema over the Citus workers' },
    { name: 'shards', value: 'N', doc: 'shards per large table, 1 to 1024; default one per worker' },
  ],
  page: 'docs/how-to/run/upgrade.md',
  examples: ['migrate', 'migrate --print > schema.sql', 'migrate --citus --shards 8'],
  exits: [
    [69, 'the database cannot be reached'],
    [77, 'the role may not create the missing objects'],
    [78, 'a newer version migrated the schema, INDEXER_EXERCISE_JSON differs from it, or --citus is not possible'],
  ],
  /** @throws IndexerError as `checkServer`, `assertWritable` and `migrate` do */
  run: async ({ args, env, write }) => {
    const config = loadConfig(env, args.options);
    const { schema } = config.database;
    const { exerciseJson } = config.indexer;
    const distribution = distributionOf(args);
    const { migrate, printMigrations } = await import('../../store/schema/migrations.ts');
    if (args.has('print')) return write(await printMigrations(schema, { exerciseJson }));
    return withAnyDatabase(config, openOptions, async (database) => {
      const { assertWritable: assertIsWritable, checkServer } = await import('../../store/connection/server-check.ts');
      const { assertExerciseJson } = await import('../../store/schema/exercise-json.ts');
      await checkServer(database);
      await assertIsWritable(database);
      const migrationResult = await migrate(database, { exerciseJson, distribution });
      await assertExerciseJson(database, exerciseJson);
      for (const id of migrationResult) write(`applied ${id}\n`);
      if (migrationResult.length === 0) write(`schema "${schema}" is up to date\n`);
      await reportDifferingRoles(database, write);
    });
  },
};

/**
 * Reports roles whose rights differ. New tables and columns have no grants, and a new version may need fewer rights.
 * Only `grant-roles` changes the rights of the roles.
 */
async function reportDifferingRoles(database: Database, write: (text: string) => void): Promise<void> {
  const { differingRoles } = await import('../../store/roles/differing-rights.ts');
  const roles = await database.withClient((client) => differingRoles(client, database.schema));
  const { differingText, grantAgain: grantCommand } = await import('../check/operation-checks.ts');
  for (const role of roles) write(`${differingText(role)}\n`);
  const [first] = roles;
  if (first !== undefined) write(`grant the rights of this version, ${grantCommand(first)}\n`);
}

/** @throws IndexerError USAGE */
function distributionOf(args: Args): Distribution | undefined {
  const shards = args.text('shards');
  if (shards !== undefined && !args.has('citus')) throw usageError('--shards needs --citus', usage);
  if (!args.has('citus')) return undefined;
  if (args.has('print')) throw usageError('--citus reads the workers, but --print uses no database', usage);
  if (shards === undefined) return {};
  if (!/^[1-9]\d{0,3}$/.test(shards) || Number(shards) > maxShards) {
    throw usageError(`--shards takes 1 to ${maxShards}, found ${JSON.stringify(shards)}`, usage);
  }
  return { shards: Number(shards) };
}
