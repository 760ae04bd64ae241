/** Checks of roles that read: what they can do or learn beside what they were given. */
import type { Database } from '../../store/connection/database.ts';
import { hasTables } from '../../store/connection/inspection.ts';
import { contentStatistics } from '../../store/roles/content-statistics.ts';
import { readerLogins } from '../../store/roles/reader-logins.ts';
import { pageUrl } from '../../project-urls.ts';
import { pass, skip, warn, type Check, type Finding } from './outcome.ts';

/** In the order in which they are shown. */
export function readerChecks(database: Database): readonly Check[] {
  return [{ name: 'limited readers', after: ['postgres'], run: () => limitedReaders(database) }];
}

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
    `where that matters give each a database of its own (LEDGER_PARTIES), or /changes, webhooks or GraphQL and no login: ${pageUrl('docs/sql.md')}`,
  );
}
