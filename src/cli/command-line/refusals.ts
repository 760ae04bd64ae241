/** Errors about the command line and the configuration. They are raised before a command starts. */
import { IndexerError } from '../../errors/indexer-error.ts';
import { suggestionText } from '../../errors/nearest-names.ts';

/** The error for arguments that the command does not accept. */
export function usageError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'USAGE', remedy });
}

/**
 * The error for an unknown command. It suggests the most similar command name.
 * @param commands the known commands
 */
export function unknownCommand(name: string, commands: readonly { readonly name: string }[]): IndexerError {
  const names = commands.map((command) => command.name);
  return usageError(
    `there is no command "${name.slice(0, 80)}"${suggestionText(name, names)}`,
    'run `ledger-indexer --help` to see the commands',
  );
}

/** The error for options that the command cannot work with. */
export function configurationError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, {
    code: 'CONFIGURATION_INVALID',
    remedy,
  });
}

/**
 * The error if no database is configured.
 * @param remedy says which database to set and which role to connect as
 */
export function noDatabaseError(remedy: string): IndexerError {
  return configurationError(
    'DATABASE_URL is not set, and no embedded database of this user runs with this data folder',
    remedy,
  );
}
