/** Prints warnings about parties and templates in the arguments that do not occur in the database. */
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

/**
 * Prints a line if no contract of this template is stored, or if the name is the name of an interface.
 * @throws IndexerError STORE_ errors
 */
export async function printUnseenTemplate(database: Database, template: string, print: PrintLine): Promise<void> {
  const { unseenTemplate: findUnseenTemplate } = await import('../../store/reads/known-parties.ts');
  const unseenName = await findUnseenTemplate(database, template);
  if (unseenName === undefined) return;
  const message = unseenName.isInterface
    ? `${template} is an interface, but events name templates: pass a template`
    : `template ${template} does not occur in the database: correct it, unless it will appear later`;
  print(`${message}. Nearest names: ${unseenName.nearest ?? 'none'}`);
}
