/**
 * Generates the command reference: the index in `docs/reference/commands.md`, and one section per command on the pages
 * below it.
 */
import { flagCall, usageOf, type Command } from './command.ts';

/** Pages below `docs/reference/commands` in the order of the index, with the commands on each page. */
export const commandPages = {
  run: [
    'run',
    'demo',
    'demo-info',
    'backfill',
    'sandbox',
    'migrate',
    'check',
    'status',
    'config',
    'completion',
    'help',
  ],
  read: ['query', 'explain', 'diff', 'account-statement', 'labels', 'verify', 'compare-pqs', 'views', 'index'],
  change: ['filter', 'rebuild', 'switch-participant', 'jobs', 'reset', 'reseed', 'quarantine'],
  remove: ['prune', 'hold', 'redact'],
  share: ['grant-roles', 'grant-reader', 'reader-token', 'webhook', 'projection', 'export', 'codegen', 'graphql'],
  ledger: ['ledger'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type CommandPage = keyof typeof commandPages;

/** The texts of a verb of `ledger`. */
export type VerbText = Pick<Command, 'name' | 'summary' | 'flags'> & {
  readonly operands: readonly string[];
  readonly example: string;
};

/** The page for commands that are missing in the list of pages. A test fails if there are any. */
const defaultPage: CommandPage = 'change';

function pageOf({ name }: Pick<Command, 'name'>): CommandPage {
  const pages = Object.keys(commandPages) as CommandPage[];
  return pages.find((page) => (commandPages[page] as readonly string[]).includes(name)) ?? defaultPage;
}

/** All commands with links to their sections. */
export function commandIndex(commands: readonly Command[]): string {
  const rows = (Object.keys(commandPages) as CommandPage[]).flatMap((page) =>
    onPage(commands, page).map(
      ({ name, summary }) => `| [\`${name}\`](commands/${page}.md#${name}) | ${cell(escapeProse(summary))} |`,
    ),
  );
  return ['| Command | What it does |', '| --- | --- |', ...rows].join('\n');
}

/** The sections of one page. @param verbs the verbs of `ledger` */
export function commandSections(commands: readonly Command[], page: CommandPage, verbs: readonly VerbText[]): string {
  return onPage(commands, page)
    .flatMap((command) => [commandSection(command), ...(command.verbs === true ? verbs.map(verbSection) : [])])
    .join('\n\n');
}

function onPage(commands: readonly Command[], page: CommandPage): readonly Command[] {
  const order: readonly string[] = commandPages[page];
  return commands
    .filter((command) => pageOf(command) === page)
    .toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

function commandSection(command: Command): string {
  const { name, summary, does: description, flags, examples, exits: exitCodes = [], page } = command;
  return joinParagraphs([
    `## \`${name}\``,
    toSentence(summary),
    fence('text', [`ledger-indexer ${name} ${usageOf(command)}`.trim()]),
    escapeProse(description.join('\n')),
    flagTable(flags),
    fence(
      'bash',
      examples.map((example) => `ledger-indexer ${example}`),
    ),
    exitCodes.length === 0
      ? ''
      : `Exit codes: ${exitCodes.map(([code, meaning]) => `${String(code)} (${meaning})`).join(', ')}.`,
    page === undefined ? '' : `[More](${relativeToPages(page)})`,
  ]);
}

function verbSection({ name, operands, summary, flags, example }: VerbText): string {
  return joinParagraphs([
    `## \`ledger ${name}\``,
    toSentence(summary),
    fence('text', [
      `ledger-indexer ledger ${[name, ...operands].join(' ')}${flags.length === 0 ? '' : ' [--option value …]'}`,
    ]),
    flagTable(flags),
    fence('bash', [`ledger-indexer ${example}`]),
  ]);
}

function flagTable(flags: Command['flags']): string {
  if (flags.length === 0) return '';
  const rows = flags.map((flag) => `| \`${cell(flagCall(flag))}\` | ${cell(escapeProse(flag.doc))} |`);
  return ['| Flag | Meaning |', '| --- | --- |', ...rows].join('\n');
}

function fence(language: string, lines: readonly string[]): string {
  return [`\`\`\`${language}`, ...lines, '```'].join('\n');
}

/** @param page path relative to the root of the project */
function relativeToPages(page: string): string {
  return page.replace(/^docs\//, '../../');
}

function toSentence(text: string): string {
  return `${escapeProse(text.charAt(0).toUpperCase() + text.slice(1))}.`;
}

/** Escapes angle brackets, so that they are not read as HTML tags. */
function escapeProse(text: string): string {
  return text.replaceAll('<', String.raw`\<`);
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`);
}

function joinParagraphs(parts: readonly string[]): string {
  return parts.filter((paragraph) => paragraph !== '').join('\n\n');
}
