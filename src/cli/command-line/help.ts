/** `help` and `--help`: prints the help of all commands or of one command. */
import { aligned } from './aligned.ts';
import { flagCall, usageOf, type Command } from './command.ts';
import { commandIndex } from './command-reference.ts';
import { unknownCommand } from './refusals.ts';

export const helpCommand: Command = {
  name: 'help',
  summary: 'print this help, or the help of one command',
  does: ['`help COMMAND` prints the same as `COMMAND --help`.'],
  operands: [{ name: 'COMMAND', optional: true }],
  flags: [{ name: 'markdown', doc: 'print all commands as a markdown table' }],
  examples: ['help', 'help prune'],
  options: false,
  alone: true,
  run: async ({ args, print, commands }) => {
    const [name] = args.operands;
    if (args.has('markdown')) return print(commandIndex(commands));
    if (name === undefined) return print(help(commands));
    const command = commands.find((candidate) => candidate.name === name);
    if (command === undefined) {
      throw unknownCommand(name, commands);
    }
    return print(commandHelp(command));
  },
};

/** Exit codes of every command. */
const commonExits: readonly (readonly [number, string])[] = [
  [0, 'done'],
  [2, 'unknown command, or wrong arguments'],
  [70, 'a bug: please report it'],
  [78, 'unusable configuration, schema or server'],
];

function formatList(rows: readonly (readonly string[])[]): string {
  return aligned(rows, { indent: 2 }).join('\n');
}

/** The help of all commands. */
export function help(commands: readonly Command[]): string {
  return `ledger-indexer: indexes a ledger participant into Postgres: every event, exactly once

usage: ledger-indexer [command] [--option value …]

${formatList(commands.map(({ name, summary }) => [name, summary]))}

"ledger-indexer COMMAND --help" prints the description, flags, examples and exit codes.
Every option is an environment variable and a flag: "ledger-indexer config" lists them.
Commands that delete or change stored data only print a preview without --yes.

examples
  ledger-indexer
  LEDGER_URL=http://localhost:7575 DATABASE_URL=postgres://me@localhost/ledger ledger-indexer
  LEDGER_URL=http://localhost:7575 ledger-indexer ledger end
  ledger-indexer migrate --print > schema.sql`;
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const {
    name,
    summary,
    does: description,
    flags,
    examples,
    exits: exitCodes = [],
    options,
    alone: isStandalone,
  } = command;
  const ownCodes = new Set(exitCodes.map(([code]) => code));
  const codes = [...commonExits.filter(([code]) => !ownCodes.has(code)), ...exitCodes].sort(([a], [b]) => a - b);
  const parts = [
    `ledger-indexer ${name}: ${summary}`,
    `usage: ledger-indexer ${name} ${usageOf(command)}`,
    description.join('\n'),
    flags.length === 0 ? '' : formatList(flags.map((flag) => [flagCall(flag), flag.doc])),
    options === false ? '' : `All options of "ledger-indexer config" are accepted, such as --database-url.`,
    isStandalone === undefined
      ? 'Without DATABASE_URL, the command uses the demo that runs with the data in INDEXER_DATA_DIR.'
      : '',
    `examples\n${examples.map((example) => `  ledger-indexer ${example}`).join('\n')}`,
    `exit codes\n${aligned(
      codes.map(([code, meaning]) => [String(code), meaning]),
      { indent: 2, columns: [{ right: true }] },
    ).join('\n')}`,
  ];
  return parts.filter((section) => section !== '').join('\n\n');
}
