/** Mistyped commands and flags: refused with the name that was probably meant. */
import { didYouMean } from '../config/option-flags.ts';
import { optionList } from '../config/option-table.ts';
import type { IndexerError } from '../errors.ts';
import { misuse } from './refusals.ts';
import { commandTable } from './table/command-table.ts';
import type { CommandFlag, CommandInfo } from './table/command-info.ts';

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

/**
 * Passes unless a flag of this command has another flag, or nothing, where its value belongs: `--reason --json` would be
 * the reason "--json". A value that does begin with two dashes is written behind an equals sign.
 * @throws IndexerError USAGE
 */
export function refuseMissingValues({ name, flags }: CommandInfo, argv: readonly string[]): void {
  const valued = new Map(flags.flatMap((flag) => (needsValue(flag) ? [[`--${flag.name}`, flag.value ?? '']] : [])));
  for (const [at, word] of argv.entries()) {
    const value = valued.get(word);
    if (value === undefined) continue;
    for (const [index, wanted] of value.split(' ').entries()) {
      const found = argv[at + 1 + index];
      if (found !== undefined && !found.startsWith('--')) continue;
      const instead = found === undefined ? 'nothing' : `"${found.slice(0, 80)}"`;
      throw misuse(`${word}: expected ${wanted} after it, found ${instead}`, `see \`ledger-indexer ${name} --help\``);
    }
  }
}

/** In brackets it may be left out. */
function needsValue({ value }: CommandFlag): boolean {
  return value !== undefined && !value.startsWith('[');
}
