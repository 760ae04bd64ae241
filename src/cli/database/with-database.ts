/** Opens and closes the database of a command. The Postgres driver is loaded only when a database is opened. */
import type { Config } from '../../config/config.ts';
import { catalogue } from '../../errors/catalogue.ts';
import { IndexerError, withContext } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { connectAs, leastRoleOf, type Feature } from '../command-line/least-roles.ts';
import { noDatabaseError } from '../command-line/refusals.ts';

export interface OpenOptions {
  /** Name of the connections on the server. */
  readonly command: string;
  /** The feature that the command provides. Errors about missing rights name the least role for this feature. */
  readonly feature?: Feature;
  /** Remedy if no database is set. By default it says to set a database, with the least role of the feature. */
  readonly remedy?: string;
  /** Statement timeout, milliseconds. By default it is the configured timeout. */
  readonly statementTimeoutMs?: number;
  /** Maximum number of connections; default 1. */
  readonly connections?: number;
  /** Schema of the stream. By default it is the configured schema. */
  readonly schema?: string;
  /** The server ends a transaction that is idle for this long, milliseconds. */
  readonly idleInTransactionMs?: number;
}

/** Opens the database; the caller closes it. @throws IndexerError CONFIGURATION_INVALID if no database is set */
export async function openFor(
  { database }: Config,
  { command, feature, remedy = databaseUrlRemedy(feature), connections = 1, ...other }: OpenOptions,
): Promise<Database> {
  const { url, urlFile, schema, statementTimeoutMs } = database;
  if (url === undefined) throw noDatabaseError(remedy);
  const { openDatabase } = await import('../../store/connection/database.ts');
  const applicationName = `ledger-indexer ${command}`;
  const maxConnections = connections;
  return openDatabase({ url, urlFile, schema, statementTimeoutMs, applicationName, maxConnections, ...other });
}

/**
 * Opens the database for `work`, and checks that its tables are of this version.
 * @throws IndexerError CONFIGURATION_INVALID, SCHEMA_OUTDATED; errors of `work`
 */
export function withDatabase<T>(
  config: Config,
  options: OpenOptions,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  return withAnyDatabase(config, options, async (database) => {
    const { assertMigrated } = await import('../../store/schema/migrations.ts');
    await assertMigrated(database);
    return work(database);
  });
}

/**
 * Opens the database for `work` without checking its tables.
 * @throws IndexerError CONFIGURATION_INVALID; errors of `work`
 */
export async function withAnyDatabase<T>(
  config: Config,
  options: OpenOptions,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openFor(config, options);
  try {
    return await work(database);
  } catch (thrown) {
    throw options.feature === undefined ? thrown : withLeastRole(thrown, options.feature);
  } finally {
    await database.close();
  }
}

function databaseUrlRemedy(feature: Feature | undefined): string {
  return feature === undefined ? 'set DATABASE_URL' : `set DATABASE_URL, as ${connectAs(feature)}`;
}

/** If the error is about missing rights, adds the role to connect as. */
function withLeastRole(thrown: unknown, feature: Feature): unknown {
  if (!(thrown instanceof IndexerError)) return thrown;
  const connect = `connect as ${connectAs(feature)}`;
  if (thrown.code === 'STORE_NOT_PERMITTED' && thrown.remedy === catalogue.STORE_NOT_PERMITTED.remedy) {
    return withContext(thrown, { remedy: connect });
  }
  // This error can mean missing rights, because sessions of readers are read-only.
  if (thrown.code === 'STORE_READ_ONLY' && leastRoleOf(feature) !== 'reader') {
    return withContext(thrown, {
      remedy: `point the URL at the primary server; if the role may only read, ${connect}`,
    });
  }
  return thrown;
}
