/** Where commands open the database they work on, and close it. */
import type { Config } from '../../config/config.ts';
import { openDatabase, type Database } from '../../store/connection/database.ts';
import { assertMigrated } from '../../store/schema/migrations.ts';
import { noDatabase } from '../command-line/refusals.ts';

export interface Opening {
  /** As the server shows it. */
  readonly command: string;
  /** What to do where no database is named: which one it has to be, and as whom. */
  readonly remedy: string;
  /** Of one statement, milliseconds; default: as configured. */
  readonly statementTimeoutMs?: number;
  /** At most so many; default 1. */
  readonly connections?: number;
  /** Default: as configured. */
  readonly schema?: string;
}

/** To be closed by the caller. @throws IndexerError CONFIGURATION_INVALID when no database is named */
export function openFor({ database }: Config, { command, remedy, connections = 1, ...other }: Opening): Database {
  const { url, schema, statementTimeoutMs } = database;
  if (url === undefined) throw noDatabase(remedy);
  const applicationName = `ledger-indexer ${command}`;
  return openDatabase({ url, schema, statementTimeoutMs, applicationName, maxConnections: connections, ...other });
}

/** Opens it for `work`, with the tables of this version. @throws IndexerError CONFIGURATION_INVALID, SCHEMA_OUTDATED; as `work` */
export async function withDatabase<T>(
  config: Config,
  opening: Opening,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = openFor(config, opening);
  try {
    await assertMigrated(database);
    return await work(database);
  } finally {
    await database.close();
  }
}
