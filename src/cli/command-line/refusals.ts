/** What commands refuse before they begin. */
import { IndexerError } from '../../errors/indexer-error.ts';
import { didYouMean } from '../../errors/nearest-names.ts';

/** Arguments that the command does not take. */
export function misuse(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'USAGE', remedy });
}

/** There is no command of this name; says which one was probably meant. @param commands those there are */
export function unknownCommand(name: string, commands: readonly { readonly name: string }[]): IndexerError {
  const names = commands.map((command) => command.name);
  return misuse(`there is no command "${name.slice(0, 80)}"${didYouMean(name, names)}`, 'see `ledger-indexer --help`');
}

/** Options that the command cannot work with. */
export function wrong(found: string, remedy: string): IndexerError {
  return new IndexerError(found, {
    code: 'CONFIGURATION_INVALID',
    remedy,
  });
}

/** Without a database there is nothing to do. @param remedy which one, and as whom */
export function noDatabase(remedy: string): IndexerError {
  return wrong('DATABASE_URL is not set, and no embedded database of this user runs in the folder of data', remedy);
}
