/** `help`, `help COMMAND` and `help --markdown`. */
import { unknownCommand } from './command-flags.ts';
import { commandHelp, commandsMarkdown, help } from './help.ts';
import { commandInfo } from './table/command-table.ts';

/** @throws IndexerError USAGE when there is no command of this name */
export function helpCommand([name]: readonly string[], print: (line: string) => void): void {
  if (name === undefined) return print(help());
  if (name === '--markdown') return print(commandsMarkdown());
  const command = commandInfo(name);
  if (command === undefined) throw unknownCommand(name);
  return print(commandHelp(command));
}
