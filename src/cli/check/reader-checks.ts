/** Checks of roles that read: what they can do or learn beside what they were given. */
import type { Database } from '../../store/connection/database.ts';
import { hasTables } from '../../store/connection/inspection.ts';
import { readersThatLock } from '../../store/roles/advisory-locks.ts';
import { contentStatistics } from '../../store/roles/content-statistics.ts';
import { defaultConnections, readerUse, type ReaderUse } from '../../store/roles/reader-limits.ts';
import { readerLogins } from '../../store/roles/reader-logins.ts';
import { unboundedWriters } from '../../store/roles/unbounded-writes.ts';
import { pageUrl } from '../../version.ts';
import { pass, skip, warn, type Check, type Finding } from './outcome.ts';

/** In the order in which they are shown. */
export function readerChecks(database: Database): readonly Check[] {
  const after = ['postgres'];
  let answer: Promise<ReaderUse | undefined> | undefined;
  const use = (): Promise<ReaderUse | undefined> => (answer ??= storedUse(database));
  return [
    { name: 'limited readers', after, run: () => limitedReaders(database) },
    { name: 'large objects', after, run: () => largeObjects(database) },
    { name: 'advisory locks', after, run: () => advisoryLocks(database) },
    { name: 'reader connections', after, run: async () => readerConnections(await use()) },
    { name: 'temporary files', after, run: async () => temporaryFiles(await use()) },
  ];
}

const asSuperuser = 'run `ledger-indexer grant-reader`, `reader-token create` or `grant-roles` again as a superuser';

/** Postgres shows plans and the time of a statement to whoever may log in. */
async function limitedReaders(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const [{ limited, logins }, indexed] = await database.withClient(async (client) => [
    await readerLogins(client, database.schema),
    await contentStatistics(client, database.schema),
  ]);
  if (limited.length === 0) return pass('no role is limited to parties');
  if (indexed.length > 0) {
    return warn(
      `EXPLAIN shows ${limited.join(', ')} values of payload fields of other parties: statistics of ${indexed.join(', ')}`,
      'run `ledger-indexer grant-reader` for one of the roles again, with its parties: it removes them',
    );
  }
  if (logins.length === 0) return pass(`${limited.join(', ')}: none logs in, so none can ask for plans`);
  return warn(
    `${logins.join(', ')} can log in: by EXPLAIN and by time they learn scalar values of rows that row security hides`,
    `where that matters give each a database of its own (LEDGER_PARTIES), or /changes, webhooks or GraphQL and no login: ${pageUrl('docs/how-to/secure/reader-roles.md#what-a-limited-role-can-infer')}`,
  );
}

/** Whoever may log in may make them, until a superuser takes that from everybody. */
async function largeObjects(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const logins = await database.withClient((client) => unboundedWriters(client, database.schema));
  if (logins.length === 0) return pass('no login that only reads may make them');
  return warn(
    `${logins.join(', ')} may make large objects and messages in the write-ahead log, which nothing bounds`,
    `${asSuperuser}; with --shared-database they leave the right to every login`,
  );
}

/** Whoever holds the lock of the writer keeps the indexer standing by. */
async function advisoryLocks(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const logins = await database.withClient((client) => readersThatLock(client, database.schema));
  if (logins.length === 0) return pass('no login that only reads may take them');
  return warn(
    `${logins.join(', ')} may take advisory locks, and with the one of the writer stop the indexer`,
    `${asSuperuser}, or let readers ask a standby or a database of their own`,
  );
}

/** Undefined while nothing is stored. */
async function storedUse(database: Database): Promise<ReaderUse | undefined> {
  if (!(await hasTables(database))) return undefined;
  return await database.withClient((client) => readerUse(client, database.schema));
}

/** A login without a limit may take every connection, and an indexer that has to reconnect finds none. */
function readerConnections(use: ReaderUse | undefined): Finding {
  if (use === undefined) return skip('nothing is stored yet');
  const [first] = use.anyConnections;
  if (first !== undefined) {
    return warn(
      `${use.anyConnections.join(', ')} may take every connection of the server, and the indexer stops without one`,
      `for each: \`alter role ${first} connection limit ${String(defaultConnections)}\``,
    );
  }
  if (use.connections === 0) return pass('no login only reads');
  const found = `all logins that only read: at most ${String(use.connections)} connections`;
  if (use.reserved) return pass(`${found}; the server keeps some for the indexer`);
  if (use.connections <= use.available) return pass(found);
  return warn(
    `${found}, ${String(Math.max(0, use.available))} are left beside those of the indexer: together they can take them all`,
    'lower the limits (`alter role … connection limit N`), or raise max_connections; from Postgres 16 on set reserved_connections = 25 ' +
      'and run `ledger-indexer grant-roles` as a superuser',
  );
}

/** A sort that does not fit the memory of a session goes to the disk, without a limit unless one is set. */
function temporaryFiles(use: ReaderUse | undefined): Finding {
  if (use === undefined) return skip('nothing is stored yet');
  const { anyTemporaryFiles } = use;
  const [first] = anyTemporaryFiles;
  if (first === undefined) return pass('every login that only reads has a limit of temporary files');
  return warn(
    `${anyTemporaryFiles.join(', ')} may fill the disk of the server with temporary files`,
    `as a superuser, for each: \`alter role ${first} set temp_file_limit = '2GB'\`, or temp_file_limit for the whole server`,
  );
}
