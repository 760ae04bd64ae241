/** `labels`: loads, lists and removes labels of parties and instruments. */
import { basename } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import { csvLine } from '../../model/push/csv.ts';
import type { Database } from '../../store/connection/database.ts';
import type { ListedLabel } from '../../store/labels/labels.ts';
import { writeExitCodes, type Call, type Command } from '../command-line/command.ts';
import { csvText, formatFlags, formatOf, spreadsheetFlag, type Format } from '../command-line/format.ts';
import { createOutput, joinRows, singleBatch, type RowFormat } from '../command-line/output.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { readLabelFile } from './label-file.ts';

const usage = `ledger-indexer labels load FILE [--source NAME]
  ledger-indexer labels list [SOURCE] [--json | --csv [--spreadsheet] | --table]
  ledger-indexer labels remove SOURCE`;

export const labelsCommand: Command = {
  name: 'labels',
  usage: 'load FILE [--source NAME] | list [SOURCE] | remove SOURCE',
  summary: 'load, list or remove labels of parties and instruments',
  does: [
    'load replaces all labels of the source with those of the file. The file is CSV with a header line, or JSON (*.json, *.jsonl),',
    'with party and label, or with admin, instrument_id and name. If a line has a problem, nothing is changed. Labels are for',
    'display only.',
  ],
  operands: [
    { name: 'ACTION', words: ['load', 'list', 'remove'] },
    { name: 'FILE|SOURCE', optional: true },
  ],
  flags: [
    { name: 'source', value: 'NAME', doc: 'of load: name of the source; default: file name without folder and ending' },
    ...formatFlags('print one JSON object per label'),
    spreadsheetFlag,
  ],
  examples: ['labels load customers.csv', 'labels list customers', 'labels remove customers'],
  exits: [...writeExitCodes, [78, 'the file has a problem, or the source has no labels']],
  page: 'docs/how-to/query/labels.md',
  /** @throws IndexerError USAGE, LABELS_REFUSED, STORE_NOT_PERMITTED */
  run: async (call) => {
    const { args, env } = call;
    const [action, name, ...extraArguments] = args.operands;
    if (extraArguments.length > 0) throw usageError('labels takes one file or source', usage);
    if (action !== 'load' && args.text('source') !== undefined)
      throw usageError('--source is a flag of labels load', usage);
    const work = workOf(call, action, name);
    const feature = action === 'load' ? 'labels load' : action === 'remove' ? 'labels remove' : 'labels list';
    await withDatabase(loadConfig(env, args.options), { command: 'labels', feature }, work);
  },
};

type Work = (database: Database) => Promise<void>;

function workOf({ args, print, stdout }: Call, action: string | undefined, name: string | undefined): Work {
  const format = formatOf(args, stdout);
  if (format === undefined) throw usageError('labels list takes only one output format', usage);
  const textOf = csvText(args, format);
  if (action === 'list') return (database) => list(database, name ?? null, { format, textOf, stdout });
  if (name === undefined)
    throw usageError(`labels ${action ?? ''} needs a ${action === 'load' ? 'file' : 'source'}`, usage);
  if (action === 'load') return (database) => load(database, name, sourceOf(args, name), print);
  return async (database) => {
    const { removeSource } = await import('../../store/labels/labels.ts');
    print(`${String(await removeSource(database, name))} labels removed`);
  };
}

function sourceOf(args: Args, file: string): string {
  const source = args.text('source') ?? basename(file).replace(/\.[^.]*$/, '');
  if (/^[\w.:-]{1,100}$/.test(source)) return source;
  throw usageError(
    'the name of a source has letters, digits and . _ : -, at most 100 characters',
    'name the source with --source',
  );
}

async function load(database: Database, file: string, source: string, print: Call['print']): Promise<void> {
  const labels = await readLabelFile(file);
  const { loadLabels } = await import('../../store/labels/labels.ts');
  const { added, changed, unchanged, removed, ofRedactedParties } = await loadLabels(database, source, labels);
  print(
    `source ${source}: ${String(added)} labels added, ${String(changed)} changed, ${String(unchanged)} unchanged, ${String(removed)} removed`,
  );
  if (ofRedactedParties > 0) {
    print(
      `${String(ofRedactedParties)} labels are of redacted parties: remove them from the file if they must not return`,
    );
  }
}

interface ListFormat {
  readonly format: Format;
  readonly textOf: (value: string | null) => string | null;
  readonly stdout: Call['stdout'];
}

async function list(database: Database, source: string | null, { format, textOf, stdout }: ListFormat): Promise<void> {
  const { listLabels } = await import('../../store/labels/labels.ts');
  const labels = await listLabels(database, source);
  const output = createOutput(stdout, format === 'table');
  if (format !== 'csv') return output.rows(singleBatch(labels), tableFormat);
  await output.text(csvLine(csvColumns));
  const lineOf = (label: ListedLabel): string =>
    csvLine(csvColumns.map((column) => textOf(label[column] === null ? null : String(label[column]))));
  for (const chunk of joinRows(labels, lineOf)) await output.text(chunk);
}

/** The columns that `labels load` reads, so that the output can be loaded again. */
const csvColumns = ['party', 'label', 'dso', 'admin', 'instrument_id', 'name', 'symbol', 'decimals', 'note'] as const;

const tableFormat: RowFormat<ListedLabel> = {
  columns: [
    { title: 'source' },
    { title: 'party or admin' },
    { title: 'instrument' },
    { title: 'label' },
    { title: 'note' },
  ],
  lines: (label) => [
    [label.source, label.party ?? label.admin ?? '', label.instrument_id ?? '', labelText(label), label.note ?? ''],
  ],
  json: (label) => JSON.stringify(label),
};

function labelText({ label, name, symbol, decimals, dso }: ListedLabel): string {
  const details = [
    ...(symbol === null ? [] : [symbol]),
    ...(decimals === null ? [] : [`${String(decimals)} decimals`]),
    ...(dso === true ? ['DSO'] : []),
  ];
  return `${label ?? name ?? ''}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}
