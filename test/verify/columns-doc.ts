/** The lists of columns in docs/reference/verify-columns.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ColumnGroup {
  /** Table and kind of rows, as named in the document. */
  readonly rows: string;
  readonly columns: readonly string[];
  /** Commands and rules that detect a change, for example `--acs` or `I21`. */
  readonly by: readonly string[];
}

const text = readFileSync(join(import.meta.dirname, '../../docs/reference/verify-columns.md'), 'utf8');

/** The table rows under a heading, as cells. */
function tableUnder(heading: string): readonly (readonly string[])[] {
  const [, sectionText = ''] = text.split(`\n### ${heading}\n`);
  const [section = ''] = sectionText.split(/\n##+ /u);
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function groupsUnder(heading: string): readonly ColumnGroup[] {
  return tableUnder(heading).map(([rows = '', columns = '', checks = '']) => ({
    rows: rows.replaceAll('`', ''),
    columns: quotedTexts(columns),
    by: [...checks.matchAll(/--\w+|\bI\d\d\b|refused/gu)].map(([name]) => name),
  }));
}

function quotedTexts(cell: string): readonly string[] {
  return [...cell.matchAll(/`(\w+)`/gu)].map(([, name = '']) => name);
}

/** Columns in which any change is detected. */
export const detectedColumns = groupsUnder('Detected');
/** Columns in which some changes are detected and others are valid. */
export const partlyDetected = groupsUnder('Detected in part');
/** Columns in which no change is detected. */
export const undetectedColumns = groupsUnder('Not detected');
