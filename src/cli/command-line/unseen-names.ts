/** Prints warnings about parties and templates in the arguments that do not occur in the database. */
import type { Database } from '../../store/connection/database.ts';
import type { Print } from './command.ts';

/** Prints a line for each party that does not occur in the database. @throws IndexerError STORE_ errors */
export async function printUnseenParties(database: Database, parties: readonly string[], print: Print): Promise<void> {
  const { unseenParties } = await import('../../store/reads/known-parties.ts');
  for (const { party, nearest } of await unseenParties(database, parties)) {
    print(
      `party ${party} does not occur in the database: correct it, unless it will appear later. Nearest parties: ${nearest ?? 'none'}`,
    );
  }
}

/**
 * Prints a line if no contract of this template is stored, or if the name is the name of an interface.
 * @throws IndexerError STORE_ errors
 */
export async function printUnseenTemplate(database: Database, template: string, print: Print): Promise<void> {
  const { unseenTemplate } = await import('../../store/reads/known-parties.ts');
  const unseen = await unseenTemplate(database, template);
  if (unseen === undefined) return;
  const found = unseen.isInterface
    ? `${template} is an interface, but events name templates: pass a template`
    : `template ${template} does not occur in the database: correct it, unless it will appear later`;
  print(`${found}. Nearest names: ${unseen.nearest ?? 'none'}`);
}
