/** How rows are printed: what the flags ask for, else what suits who reads. */
import type { Terminal } from './command.ts';
import type { CommandFlag, Given } from './parse.ts';

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
