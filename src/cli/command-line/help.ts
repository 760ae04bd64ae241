/** The texts of `--help`, of all commands and of one, and the same as Markdown. */
import { commandTable } from '../table/command-table.ts';
import type { CommandFlag, CommandInfo } from '../table/command-info.ts';

/** What any command may end with. */
const usualExits: readonly (readonly [number, string])[] = [
  [0, 'done'],
  [2, 'there is no such command, or its arguments are wrong'],
  [70, 'a defect: please report it'],
  [78, 'configuration: options, schema or server are not usable'],
];

function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n');
}

function flagCall({ name, value }: CommandFlag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** All commands. */
export function help(): string {
  return `ledger-indexer: follows a ledger participant and keeps every event in Postgres, exactly once

usage: ledger-indexer [command] [--option value …]

${aligned(commandTable.map(({ name, summary }) => [name, summary]))}

"ledger-indexer COMMAND --help" says what a command does, its flags, examples and exit codes.
Every option is an environment variable and a flag: "ledger-indexer config" lists them.

examples
  ledger-indexer
  LEDGER_URL=http://localhost:7575 DATABASE_URL=postgres://me@localhost/ledger ledger-indexer
  LEDGER_URL=http://localhost:7575 ledger-indexer ledger end
  ledger-indexer migrate --print > schema.sql`;
}

/** One command. */
export function commandHelp(command: CommandInfo): string {
  const { name, usage, summary, does, flags, examples, exits = [], options, alone } = command;
  const own = new Set(exits.map(([code]) => code));
  const codes = [...usualExits.filter(([code]) => !own.has(code)), ...exits].sort(([a], [b]) => a - b);
  const parts = [
    `ledger-indexer ${name}: ${summary}`,
    `usage: ledger-indexer ${name} ${usage}`,
    does.join('\n'),
    flags.length === 0 ? '' : aligned(flags.map((flag) => [flagCall(flag), flag.doc])),
    options === false ? '' : `Options are those of "ledger-indexer config", as --database-url.`,
    alone === undefined ? 'Without DATABASE_URL it works on the demo that runs with the data in INDEXER_DATA_DIR.' : '',
    `examples\n${examples.map((example) => `  ledger-indexer ${example}`).join('\n')}`,
    `exit codes\n${aligned(codes.map(([code, meaning]) => [String(code).padStart(2), meaning]))}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The commands as a Markdown table. */
export function commandsMarkdown(): string {
  const rows = commandTable.map(({ name, summary, page }) => {
    const more = page === undefined ? '' : `; [more](${page})`;
    return `| \`${name}\` | ${summary.replaceAll('|', '\\|')}${more} |`;
  });
  return ['| Command | What it does |', '| --- | --- |', ...rows].join('\n');
}
