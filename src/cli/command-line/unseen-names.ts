/** What a command says of parties and templates that it was given and that nothing in the database has, yet or ever. */
import type { Database } from '../../store/connection/database.ts';
import type { Print } from './command.ts';

/** Prints a line for each of the parties that nothing here names. @throws IndexerError STORE_ errors */
export async function printUnseenParties(database: Database, parties: readonly string[], print: Print): Promise<void> {
  const { unseenParties } = await import('../../store/reads/known-parties.ts');
  for (const { party, nearest } of await unseenParties(database, parties)) {
    print(`nothing here names ${party} yet: correct it, unless it will come. Nearest parties: ${nearest ?? 'none'}`);
  }
}

/** Prints a line where no contract of this template was seen, or where it is an interface. @throws IndexerError STORE_ errors */
export async function printUnseenTemplate(database: Database, template: string, print: Print): Promise<void> {
  const { unseenTemplate } = await import('../../store/reads/known-parties.ts');
  const unseen = await unseenTemplate(database, template);
  if (unseen === undefined) return;
  const found = unseen.isInterface
    ? `${template} is an interface, and events name templates: name a template`
    : `no template ${template} was seen here yet: correct it, unless it will come`;
  print(`${found}. Nearest names: ${unseen.nearest ?? 'none'}`);
}
