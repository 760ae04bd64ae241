/** Where commands open the database they work on, and close it. What speaks to Postgres is read from the disk only then. */
import type { Config } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import { noDatabase } from '../command-line/refusals.ts';

export interface Opening {
  /** As the server shows it. */
  readonly command: string;
  /** What to do where no database is named: which one it has to be, and as whom. */
  readonly remedy?: string;
  /** Of one statement, milliseconds; default: as configured. */
  readonly statementTimeoutMs?: number;
  /** At most so many; default 1. */
  readonly connections?: number;
  /** Default: as configured. */
  readonly schema?: string;
  /** The server ends a transaction in which nothing happens for so long, milliseconds. */
  readonly idleInTransactionMs?: number;
}

/** To be closed by the caller. @throws IndexerError CONFIGURATION_INVALID when no database is named */
export async function openFor(
  { database }: Config,
  { command, remedy = 'name the database', connections = 1, ...other }: Opening,
): Promise<Database> {
  const { url, urlFile, schema, statementTimeoutMs } = database;
  if (url === undefined) throw noDatabase(remedy);
  const { openDatabase } = await import('../../store/connection/database.ts');
  const applicationName = `ledger-indexer ${command}`;
  const maxConnections = connections;
  return openDatabase({ url, urlFile, schema, statementTimeoutMs, applicationName, maxConnections, ...other });
}

/** Opens it for `work`, with the tables of this version. @throws IndexerError CONFIGURATION_INVALID, SCHEMA_OUTDATED; as `work` */
export function withDatabase<T>(
  config: Config,
  opening: Opening,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  return withAnyDatabase(config, opening, async (database) => {
    const { assertMigrated } = await import('../../store/schema/migrations.ts');
    await assertMigrated(database);
    return work(database);
  });
}

/** Opens it for `work`, whatever its tables are and whether it has any. @throws IndexerError CONFIGURATION_INVALID; as `work` */
export async function withAnyDatabase<T>(
  config: Config,
  opening: Opening,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openFor(config, opening);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
