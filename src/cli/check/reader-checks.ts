/** Checks of reader roles: whether they can do or read more than they were granted. */
import type { Database } from '../../store/connection/database.ts';
import { hasTables } from '../../store/connection/inspection.ts';
import { readersWithLockRights } from '../../store/roles/advisory-locks.ts';
import { contentStatistics } from '../../store/roles/content-statistics.ts';
import { defaultConnections, readerUse, temporaryFilesLimit, type ReaderUse } from '../../store/roles/reader-limits.ts';
import { loginsWithoutDefaults, readerLogins } from '../../store/roles/reader-logins.ts';
import { unboundedWriters } from '../../store/roles/unbounded-writes.ts';
import { pageUrl } from '../../page-url.ts';
import { pass, skip, warn, type Check, type Finding } from './outcome.ts';

/** The checks in the order of the output. */
export function readerChecks(database: Database): readonly Check[] {
  const after = ['postgres'];
  let pendingUse: Promise<ReaderUse | undefined> | undefined;
  const use = (): Promise<ReaderUse | undefined> => (pendingUse ??= readReaderUse(database));
  return [
    { name: 'limited readers', after, run: () => limitedReaders(database) },
    { name: 'reader settings', after, run: () => readerSettings(database) },
    { name: 'large objects', after, run: () => largeObjects(database) },
    { name: 'advisory locks', after, run: () => advisoryLocks(database) },
    { name: 'reader connections', after, run: async () => readerConnections(await use()) },
    { name: 'temporary files', after, run: async () => temporaryFiles(await use()) },
  ];
}

const superuserRemedy =
  'run `ledger-indexer grant-reader`, `reader-token create` or `grant-roles` again as a superuser';

/** Checks roles that are limited to parties. Postgres reveals query plans and execution times to every login. */
async function limitedReaders(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const [{ limited: limitedLogins, logins }, indexed] = await database.withClient(async (client) => [
    await readerLogins(client, database.schema),
    await contentStatistics(client, database.schema),
  ]);
  if (limitedLogins.length === 0) return pass('no role is limited to parties');
  if (indexed.length > 0) {
    return warn(
      `EXPLAIN reveals payload values of other parties to ${limitedLogins.join(', ')}, through statistics of ${indexed.join(', ')}`,
      'run `ledger-indexer grant-reader` for one of the roles again, with its parties: it removes the statistics',
    );
  }
  if (logins.length === 0)
    return pass(`${limitedLogins.join(', ')}: no such role can log in, so none can read query plans`);
  return warn(
    `${logins.join(', ')} can log in, and can infer scalar values of rows hidden by row security from EXPLAIN and execution times`,
    `if that matters, give each role its own database (LEDGER_PARTIES), or /changes, webhooks or GraphQL without a login: ${pageUrl('docs/how-to/secure/reader-roles.md#what-a-limited-role-can-infer')}`,
  );
}

/** Checks the settings of reader sessions. A restore without `pg_restore --create` loses them. */
async function readerSettings(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const logins = await database.withClient((client) => loginsWithoutDefaults(client, database.schema));
  const [first] = logins;
  if (first === undefined) return pass('every reader login has its search path, time limit and read-only default');
  const lost = logins.map(({ login, missing }) => `${login} lacks ${missing.join(', ')}`).join('; ');
  return warn(
    `${lost} in this database`,
    `run for each: \`ledger-indexer grant-reader ${first.login}\`, with its --party flags if it is limited; replace reader tokens by new ones`,
  );
}

/** Checks large objects. Every login may create them unless a superuser revokes this right from `public`. */
async function largeObjects(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const logins = await database.withClient((client) => unboundedWriters(client, database.schema));
  if (logins.length === 0) return pass('no reader login may create them');
  return warn(
    `${logins.join(', ')} may create large objects and messages in the write-ahead log, without a limit`,
    `${superuserRemedy}, without --shared-database; on a managed service, which has no superuser, give logins only to people you trust`,
  );
}

/** Checks advisory locks. If a session of a reader holds the writer lock, the indexer stays on standby. */
async function advisoryLocks(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const logins = await database.withClient((client) => readersWithLockRights(client, database.schema));
  if (logins.length === 0) return pass('no reader login may take them');
  return warn(
    `${logins.join(', ')} may take advisory locks, including the writer lock, which stops the indexer`,
    `${superuserRemedy}; on a managed service, which has no superuser, let readers query a replica or another database`,
  );
}

/** Connections and temporary files of readers; undefined if nothing is stored yet. */
async function readReaderUse(database: Database): Promise<ReaderUse | undefined> {
  if (!(await hasTables(database))) return undefined;
  return await database.withClient((client) => readerUse(client, database.schema));
}

/** Checks connection limits. A login without a limit may take all connections, and an indexer then cannot reconnect. */
function readerConnections(use: ReaderUse | undefined): Finding {
  if (use === undefined) return skip('nothing is stored yet');
  const [first] = use.anyConnections;
  if (first !== undefined) {
    return warn(
      `${use.anyConnections.join(', ')} may take all connections of the server, and the indexer stops without a connection`,
      `run for each: \`alter role ${first} connection limit ${String(defaultConnections)}\``,
    );
  }
  if (use.connections === 0) return pass('there are no reader logins');
  const message = `all reader logins together: at most ${String(use.connections)} connections`;
  if (use.reserved) return pass(`${message}; the server reserves some for the indexer`);
  if (use.connections <= use.available) return pass(message);
  return warn(
    `${message}, ${String(Math.max(0, use.available))} are left in addition to those of the indexer: the readers together can take all of them`,
    'lower the limits (`alter role … connection limit N`), or raise max_connections; from Postgres 16, set reserved_connections = 25 ' +
      'and run `ledger-indexer grant-roles` as a superuser',
  );
}

/** Checks temporary files. A sort that exceeds the memory of a session writes to disk, without any limit by default. */
function temporaryFiles(use: ReaderUse | undefined): Finding {
  if (use === undefined) return skip('nothing is stored yet');
  const { anyTemporaryFiles: hasTemporaryFiles } = use;
  const [first] = hasTemporaryFiles;
  if (first === undefined) return pass('every reader login has a limit for temporary files');
  return warn(
    `${hasTemporaryFiles.join(', ')} may fill the disk of the server with temporary files`,
    `run as a superuser for each: \`alter role ${first} set temp_file_limit = '${temporaryFilesLimit}'\`, or set temp_file_limit for the entire server`,
  );
}
