/** Mistyped commands and flags: refused with the name that was probably meant. */
import { didYouMean } from '../config/option-flags.ts';
import { optionList } from '../config/option-table.ts';
import type { IndexerError } from '../errors.ts';
import { misuse } from './refusals.ts';
import { commandTable } from './table/command-table.ts';
import type { CommandInfo } from './table/command-info.ts';

/** There is no command of this name. */
export function unknownCommand(name: string): IndexerError {
  const names = commandTable.map((command) => command.name);
  return misuse(`there is no command "${name.slice(0, 80)}"${didYouMean(name, names)}`, 'see `ledger-indexer --help`');
}

/**
 * Passes unless a word looks like a flag of this command misspelt. What resembles none of them is left to the
 * configuration, which lists everything it does not know at once.
 * @throws IndexerError USAGE
 */
export function refuseUnknownFlags({ name, flags }: CommandInfo, argv: readonly string[]): void {
  const own = new Set(flags.map((flag) => `--${flag.name}`));
  const options = new Set(optionList.flatMap((option) => [`--${option.name}`, `--no-${option.name}`]));
  for (const word of argv) {
    const [flag = ''] = word.split('=', 1);
    if (!flag.startsWith('--') || flag === '--' || own.has(flag) || options.has(flag)) continue;
    const suggestion = didYouMean(flag, [...options, ...own]);
    const meant = [...own].some((known) => suggestion === `; did you mean ${known}?`);
    if (meant) throw misuse(`${flag}: no such flag${suggestion}`, `see \`ledger-indexer ${name} --help\``);
  }
}
