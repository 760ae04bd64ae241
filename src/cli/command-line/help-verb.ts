/** `help`, `help COMMAND` and `help --markdown`. */
import { unknownCommand } from './unknown-command.ts';
import { commandHelp, commandsMarkdown, help } from './help.ts';
import { parse } from './parse.ts';
import { commandInfo, commandNamed } from '../table/command-table.ts';

/** @throws IndexerError USAGE when there is no command of this name */
export function helpCommand(argv: readonly string[], print: (line: string) => void): void {
  const given = parse(commandNamed('help'), argv);
  const [name] = given.operands;
  if (given.has('markdown')) return print(commandsMarkdown());
  if (name === undefined) return print(help());
  const command = commandInfo(name);
  if (command === undefined) throw unknownCommand(name);
  return print(commandHelp(command));
}
