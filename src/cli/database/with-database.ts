/** Where commands open the database they work on, and close it. What speaks to Postgres is read from the disk only then. */
import type { Config } from '../../config/config.ts';
import { catalogue } from '../../errors/catalogue.ts';
import { IndexerError, retold } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { connectAs, leastRoleOf, type Feature } from '../command-line/least-roles.ts';
import { noDatabase } from '../command-line/refusals.ts';

export interface Opening {
  /** As the server shows it. */
  readonly command: string;
  /** A refusal names the least role that this needs. */
  readonly feature?: Feature;
  /** What to do if no database is named; default: name one, as the least role of the feature. */
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
  { command, feature, remedy = nameOne(feature), connections = 1, ...other }: Opening,
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
  } catch (thrown) {
    throw opening.feature === undefined ? thrown : withLeastRole(thrown, opening.feature);
  } finally {
    await database.close();
  }
}

function nameOne(feature: Feature | undefined): string {
  return feature === undefined ? 'name the database' : `name the database, as ${connectAs(feature)}`;
}

/** The failure with the role to connect as, if the role of the connection has not enough rights. */
function withLeastRole(thrown: unknown, feature: Feature): unknown {
  if (!(thrown instanceof IndexerError)) return thrown;
  const connect = `connect as ${connectAs(feature)}`;
  if (thrown.code === 'STORE_NOT_PERMITTED' && thrown.remedy === catalogue.STORE_NOT_PERMITTED.remedy) {
    return retold(thrown, { remedy: connect });
  }
  // Sessions of readers are read-only.
  if (thrown.code === 'STORE_READ_ONLY' && leastRoleOf(feature) !== 'reader') {
    return retold(thrown, { remedy: `point the URL at the primary server; if the role may only read, ${connect}` });
  }
  return thrown;
}
