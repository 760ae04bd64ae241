/** How rows are printed: what the flags ask for, else what suits who reads. */
import type { Terminal } from './command.ts';
import { noFormula } from '../../model/push/csv.ts';
import type { CommandFlag, Given } from './parse.ts';
import { misuse } from './refusals.ts';

const formats = ['table', 'json', 'csv'] as const;
export type Format = (typeof formats)[number];

/** @param json what --json prints */
export function formatFlags(json: string): readonly CommandFlag[] {
  return [
    { name: 'json', doc: json },
    { name: 'csv', doc: 'the rows, with a title row' },
    { name: 'table', doc: 'aligned, as on a terminal' },
  ];
}

/** @returns undefined when more than one is asked for */
export function formatOf(given: Given, stdout: Terminal): Format | undefined {
  const asked = formats.filter((format) => given.has(format));
  if (asked.length > 1) return undefined;
  return asked[0] ?? (stdout.isTTY === true ? 'table' : 'json');
}

export const spreadsheetFlag: CommandFlag = {
  name: 'spreadsheet',
  doc: 'with --csv: an apostrophe before text that a spreadsheet would take for a formula',
};

/** What a text becomes in CSV. @throws IndexerError USAGE for `--spreadsheet` without `--csv` */
export function csvText(given: Given, format: Format | undefined): (value: string | null) => string | null {
  if (!given.has(spreadsheetFlag.name)) return (value) => value;
  if (format === 'csv') return noFormula;
  throw misuse('--spreadsheet belongs to --csv', 'add --csv, or leave out --spreadsheet');
}
