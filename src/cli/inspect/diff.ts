/** `diff`: compares active contracts at two offsets or times, counted by template or listed one by one. */
import { loadConfig } from '../../config/config.ts';
import type { Diff, DiffRow, DiffRequest } from '../../store/reads/diff.ts';
import type { Command, Terminal } from '../command-line/command.ts';
import { csvLine } from '../../model/push/csv.ts';
import { csvText, formatFlags, formatOf, spreadsheetFlag, type Format } from '../command-line/format.ts';
import { historyBound, type HistoryBound } from '../command-line/history-bound.ts';
import { createOutput, joinRows, type RowFormat } from '../command-line/output.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = 'OFFSET|TIME OFFSET|TIME [--template T] [--party P] [--json | --csv [--spreadsheet] | --table]';

export const diffCommand: Command = {
  name: 'diff',
  usage,
  summary: 'compare active contracts at two offsets or times',
  does: [
    'Counts per template: active before; created and archived; assigned and unassigned (in flight between two synchronizers',
    'before and after); unhosted (their parties left the participant); unchanged; active after; net. With --template, lists',
    'the contracts of the template. Offsets outside the stored history are rejected.',
  ],
  operands: [{ name: 'FROM' }, { name: 'TO' }],
  flags: [
    { name: 'template', value: 'T', doc: 'list contracts of package:Module:Entity, Module:Entity or Entity' },
    { name: 'party', value: 'P', doc: 'only contracts of this stakeholder' },
    ...formatFlags('print one JSON object per row'),
    spreadsheetFlag,
  ],
  examples: ['diff 120000 120500', 'diff 2026-01-31T00:00:00Z 2026-02-01T00:00:00Z --template Amulet --csv'],
  exits: [
    [2, 'a bound, the template or the party is not stored here, or a bound is invalid'],
    [69, 'the database cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/how-to/query/contracts-and-history.md',
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, QUERY_REFUSED, SCHEMA_OUTDATED and STORE_ errors */
  run: async ({ args, env, stdout }) => {
    const request = requestOf(args);
    const format = formatOf(args, stdout);
    if (format === undefined) throw commandUsageError('diff takes only one output format');
    const text = csvText(args, format);
    const { readDiff } = await import('../../store/reads/diff.ts');
    const openOptions = {
      command: 'diff',
      feature: 'diff',
      statementTimeoutMs,
      idleInTransactionMs: statementTimeoutMs,
    } as const;
    await withDatabase(loadConfig(env, args.options), openOptions, (database) =>
      readDiff(database, request, (diff) => printDiff(diff, { format, text }, stdout)),
    );
  },
};

/** This is long, because all contracts active at both ends are read, and the reader of the output may pause. */
const statementTimeoutMs = 60 * 60_000;

function requestOf(args: Args): DiffRequest {
  const [from = '', to = ''] = args.operands;
  return {
    from: parseBound(from),
    to: parseBound(to),
    template: args.text('template') ?? null,
    party: args.text('party') ?? null,
  };
}

function parseBound(text: string): HistoryBound {
  const parsedBound = historyBound(text);
  if (parsedBound === undefined)
    throw commandUsageError(`"${text.slice(0, 80)}" is neither an offset nor a time with its zone`);
  return parsedBound;
}

function commandUsageError(message: string) {
  return usageError(message, `ledger-indexer diff ${usage}`);
}

const isText: ReadonlySet<string> = new Set(['template_fqn', 'contract_id', 'change']);

interface PrintOptions {
  readonly format: Format;
  /** Escapes text for CSV. */
  readonly text: (value: string | null) => string | null;
}

async function printDiff({ columns, pages }: Diff, { format, text }: PrintOptions, stdout: Terminal): Promise<void> {
  const { isTTY = false, columns: cells = 0 } = stdout;
  const output = createOutput(stdout, format === 'table', isTTY ? (cells > 0 ? cells : 80) : undefined);
  if (format !== 'csv') return output.rows(pages, formatFor(columns));
  await output.text(csvLine(columns));
  const line = (row: DiffRow): string =>
    csvLine(row.map((value, index) => (isText.has(columns[index] ?? '') ? text(value) : value)));
  for await (const rows of pages) {
    for (const chunk of joinRows(rows, line)) await output.piece(chunk);
  }
}

function formatFor(columns: readonly string[]): RowFormat<DiffRow> {
  const isNumber = columns.map((name) => !isText.has(name));
  return {
    columns: columns.map((title, index) => (isNumber[index] === true ? { title, right: true } : { title })),
    lines: (row) => [row.map((value) => value ?? '')],
    json: (row) => {
      const fields = columns.map((name, index) => {
        const value = row[index] ?? null;
        return `${JSON.stringify(name)}:${value !== null && isNumber[index] === true ? value : JSON.stringify(value)}`;
      });
      return `{${fields.join(',')}}`;
    },
  };
}
