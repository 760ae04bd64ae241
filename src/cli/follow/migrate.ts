/**
 * `ledger-indexer migrate`: brings the schema up to date and says what it did, or prints the SQL for somebody who is
 * allowed to run it. Needs the database only, no ledger.
 */
import { loadConfig } from '../../config/config.ts';
import { openDatabase } from '../../store/connection/database.ts';
import { migrate, printMigrations } from '../../store/schema/migrations.ts';
import { checkServer } from '../../store/connection/server-check.ts';
import { parse } from '../command-line/parse.ts';
import { noDatabase } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';

export interface MigrateOptions {
  readonly url: string;
  readonly schema: string;
  /** Only print the SQL; the database is not contacted. */
  readonly print: boolean;
  /** Receives the text for standard output, newlines included. */
  readonly write: (text: string) => void;
}

/** @throws IndexerError as `checkServer` and `migrate` do */
export async function migrateCommand({ url, schema, print, write }: MigrateOptions): Promise<void> {
  if (print) {
    write(await printMigrations(schema));
    return;
  }
  const database = openDatabase({
    url,
    schema,
    statementTimeoutMs: 60_000,
    applicationName: 'ledger-indexer migrate',
    maxConnections: 1,
  });
  try {
    await checkServer(database);
    const applied = await migrate(database);
    for (const id of applied) write(`applied ${id}\n`);
    if (applied.length === 0) write(`schema "${schema}" is up to date\n`);
  } finally {
    await database.close();
  }
}

/** The verb: flags and environment to {@link migrateCommand}. `--print` needs no database. */
export async function migrateVerb(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (text: string) => void,
): Promise<void> {
  const given = parse(commandNamed('migrate'), argv);
  const print = given.has('print');
  const { url, schema } = loadConfig(given.options, env).database;
  if (url === undefined && !print) {
    throw noDatabase('name the database, or use --print to see the SQL');
  }
  await migrateCommand({ url: url ?? '', schema, print, write });
}
