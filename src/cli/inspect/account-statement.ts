/**
 * `account-statement`: prints token balances and changes of a party between two offsets or times, with a hash that
 * others can reproduce.
 */
import { loadConfig } from '../../config/config.ts';
import { otherOwnersOf, type AccountStatementRow } from '../../store/reads/statement-row.ts';
import type { AccountStatement, StatementRequest } from '../../store/reads/account-statement.ts';
import { aligned } from '../command-line/aligned.ts';
import type { Command, Terminal } from '../command-line/command.ts';
import { csvLine, escapeFormula } from '../../model/push/csv.ts';
import { formatFlags, formatOf, type Format } from '../command-line/format.ts';
import { historyBound, type HistoryBound } from '../command-line/history-bound.ts';
import { createOutput, joinRows, type Output } from '../command-line/output.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { StatementTable, totalLines } from './statement-table.ts';

const usage =
  '--party P [--instrument I] [--admin A] [--from OFFSET|TIME] [--to OFFSET|TIME] [--json | --csv | --table]';

export const accountStatementCommand: Command = {
  name: 'account-statement',
  usage,
  summary: 'print token balances of a party and each change, with a hash',
  does: [
    'Starts with the balances at --from and ends with the balances at --to; default: the limits of the known history. The',
    'table shortens parties and rounds US dollars to two decimal places; --json and --csv have complete values. Notes list',
    'what the rows do not contain. --csv prints the stamp (participant, offsets, times, SHA-256) to standard error and writes',
    'an apostrophe before text that looks like a formula. `verify --account-statement FILE` compares the output of --json',
    'with the tables.',
  ],
  operands: [],
  flags: [
    { name: 'party', value: 'P', doc: 'holder of the tokens' },
    { name: 'instrument', value: 'I', doc: 'id of the instrument; default all' },
    { name: 'admin', value: 'A', doc: 'admin of the instrument, because others may use the same id' },
    { name: 'from', value: 'OFFSET|TIME', doc: 'print changes after it, e.g. 120000 or 2026-01-31T00:00:00Z' },
    { name: 'to', value: 'OFFSET|TIME', doc: 'print changes up to and including it' },
    ...formatFlags('print one JSON object, the input of `verify --account-statement`'),
  ],
  examples: [
    'account-statement --party alice::1220… --instrument Amulet --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z',
    'account-statement --party alice::1220… --json > alice.json',
  ],
  exits: [
    [2, 'the party or history is not stored here, or a bound is invalid'],
    [69, 'the database cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/how-to/query/account-statements.md',
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, QUERY_REFUSED, SCHEMA_OUTDATED and STORE_ errors */
  run: async ({ args, env, stdout, stderr }) => {
    const request = requestOf(args);
    const format = formatOf(args, stdout);
    if (format === undefined) throw commandUsageError('account-statement takes only one output format');
    const { readAccountStatement } = await import('../../store/reads/account-statement.ts');
    await withDatabase(loadConfig(env, args.options), openOptions, (database) =>
      readAccountStatement(database, request, (statement) => printStatement(statement, format, stdout, stderr)),
    );
  },
};

/** A party may have years of history, and the reader may pause (`| less`). */
const openOptions = {
  command: 'account-statement',
  feature: 'account-statement',
  statementTimeoutMs: 60 * 60_000,
  idleInTransactionMs: 60 * 60_000,
} as const;

function requestOf(args: Args): StatementRequest {
  const party = args.text('party');
  if (party === undefined) throw commandUsageError('account-statement needs --party');
  const parseBound = (flag: string): HistoryBound | null => {
    const text = args.text(flag);
    if (text === undefined) return null;
    const parsedBound = historyBound(text);
    if (parsedBound === undefined)
      throw commandUsageError(`--${flag} "${text.slice(0, 80)}" is neither an offset nor a time with its zone`);
    return parsedBound;
  };
  const [instrument, admin] = [args.text('instrument') ?? null, args.text('admin') ?? null];
  return { party, instrument, admin, from: parseBound('from'), to: parseBound('to') };
}

function commandUsageError(message: string) {
  return usageError(message, `ledger-indexer account-statement ${usage}`);
}

async function printStatement(
  statement: AccountStatement,
  format: Format,
  stdout: Terminal,
  stderr: Terminal,
): Promise<void> {
  const output = createOutput(stdout, format === 'table');
  if (format === 'json') return json(statement, output);
  const hash = (): string => aligned([['SHA-256', statement.sha256()]]).join('\n');
  if (format === 'csv') {
    await csv(statement, output);
    stderr.write(`${[...headerLines(statement), hash()].join('\n')}\n`);
    return;
  }
  const table = new StatementTable(statement.columns);
  await output.text([...headerLines(statement), '', ''].join('\n'));
  await output.rows(labeledPages(statement, table), table.format);
  await output.text(['', ...totalLines(statement.totals(), table), '', hash(), ''].join('\n'));
}

/** Passes the labels of each page to the table before its rows. */
async function* labeledPages(
  { pages, labels }: AccountStatement,
  table: StatementTable,
): AsyncGenerator<readonly AccountStatementRow[]> {
  for await (const rows of pages) {
    table.addLabels(await labels([...new Set(rows.flatMap(otherOwnersOf))]));
    yield rows;
  }
}

/** Prints one object, with each row on its own line. */
async function json({ pages, labels, totals, sha256, ...head }: AccountStatement, output: Output): Promise<void> {
  const parties = new Set<string>();
  await output.text(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  let separator = '';
  const lineOf = (row: AccountStatementRow): string => {
    const line = `${separator}${JSON.stringify(row)}`;
    separator = ',\n';
    return line;
  };
  for await (const rows of pages) {
    for (const party of rows.flatMap(otherOwnersOf)) parties.add(party);
    for (const chunk of joinRows(rows, lineOf)) await output.text(chunk);
  }
  const partyLabels = JSON.stringify(Object.fromEntries(await labels([...parties])));
  await output.text(`],"labels":${partyLabels},"totals":${JSON.stringify(totals())},"sha256":"${sha256()}"}`);
}

/** Prints CSV for spreadsheets. Amounts are numbers, and no text is a formula. */
async function csv({ columns, pages }: AccountStatement, output: Output): Promise<void> {
  const lineOf = (row: AccountStatementRow): string =>
    csvLine(row.map((value, index) => (isNumber.has(columns[index] ?? '') ? value : escapeFormula(value))));
  await output.text(csvLine(columns));
  for await (const rows of pages) {
    for (const chunk of joinRows(rows, lineOf)) await output.text(chunk);
  }
}

const isNumber: ReadonlySet<string> = new Set([
  'offset',
  'amount_in',
  'amount_out',
  'net',
  'balance',
  'locked',
  'unreadable_holdings',
  'amulet_price',
  'usd',
]);

function headerLines({ participant, party, instrument, admin, from, to, notes }: AccountStatement): readonly string[] {
  const formatBound = ({ offset, recordTime }: AccountStatement['from']): string =>
    recordTime === null ? String(offset) : `${String(offset)}, recorded ${recordTime}`;
  return aligned([
    ['party', party],
    ['instrument', instrument ?? 'all'],
    ...(admin === null ? [] : [['admin', admin]]),
    ['after offset', formatBound(from)],
    ['to offset', formatBound(to)],
    ['participant', participant ?? 'unknown'],
    ...notes.map((note) => ['note', note]),
  ]);
}
