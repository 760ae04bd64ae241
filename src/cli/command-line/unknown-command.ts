/** A mistyped command: refused with the name that was probably meant. */
import { didYouMean } from '../../config/option-flags.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { misuse } from './refusals.ts';
import { commandTable } from '../table/command-table.ts';

/** There is no command of this name. */
export function unknownCommand(name: string): IndexerError {
  const names = commandTable.map((command) => command.name);
  return misuse(`there is no command "${name.slice(0, 80)}"${didYouMean(name, names)}`, 'see `ledger-indexer --help`');
}
