/** Every command, once: help, completion, suggestions and the table of docs/commands.md are made from this. */
import { changeCommands } from './change-commands.ts';
import type { CommandInfo } from './command-info.ts';
import { readCommands } from './read-commands.ts';
import { runCommands } from './run-commands.ts';

/** In the order of the help. */
export const commandTable: readonly CommandInfo[] = [...runCommands, ...readCommands, ...changeCommands];

/** What is said of a command that there is. @throws RangeError for another name */
export function commandNamed(name: string): CommandInfo {
  const found = commandInfo(name);
  if (found === undefined) throw new RangeError(`no command ${name}`);
  return found;
}

/** What is said of a command; undefined when there is none of this name. */
export function commandInfo(name: string): CommandInfo | undefined {
  return commandTable.find((command) => command.name === name);
}
