/** Output formats for rows. Flags select the format; the default is a table on a terminal and JSON in a pipe. */
import type { Terminal } from './command.ts';
import { escapeFormula } from '../../model/push/csv.ts';
import type { CommandFlag, Args } from './parse.ts';
import { usageError } from './refusals.ts';

const formats = ['table', 'json', 'csv'] as const;
export type Format = (typeof formats)[number];

/** @param json the help text of --json */
export function formatFlags(json: string): readonly CommandFlag[] {
  return [
    { name: 'json', doc: json },
    { name: 'csv', doc: 'print CSV with a header row' },
    { name: 'table', doc: 'print an aligned table, as on a terminal' },
  ];
}

/** @returns undefined if more than one format is requested */
export function formatOf(args: Args, stdout: Terminal): Format | undefined {
  const requestedFormats = formats.filter((format) => args.has(format));
  if (requestedFormats.length > 1) return undefined;
  return requestedFormats[0] ?? (stdout.isTTY === true ? 'table' : 'json');
}

export const spreadsheetFlag: CommandFlag = {
  name: 'spreadsheet',
  doc: 'with --csv: write an apostrophe before text that looks like a formula',
};

/** Escapes text for CSV. @throws IndexerError USAGE for `--spreadsheet` without `--csv` */
export function csvText(args: Args, format: Format | undefined): (value: string | null) => string | null {
  if (!args.has(spreadsheetFlag.name)) return (value) => value;
  if (format === 'csv') return escapeFormula;
  throw usageError('--spreadsheet needs --csv', 'add --csv, or remove --spreadsheet');
}
