/** Prints warnings about parties in the arguments that do not occur in the database. */
import type { Database } from '../../store/connection/database.ts';
import type { PrintLine } from './command.ts';

/** Prints a line for each party that does not occur in the database. @throws IndexerError STORE_ errors */
export async function printUnseenParties(
  database: Database,
  parties: readonly string[],
  print: PrintLine,
): Promise<void> {
  const { unseenParties: findUnseenParties } = await import('../../store/reads/known-parties.ts');
  for (const { party, nearest: suggestions } of await findUnseenParties(database, parties)) {
    print(
      `party ${party} does not occur in the database: correct it, unless it will appear later. Nearest parties: ${suggestions ?? 'none'}`,
    );
  }
}
