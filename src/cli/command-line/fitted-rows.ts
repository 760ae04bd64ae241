/**
 * Rows of a query on a terminal, none of them wider than it: a table whose long values are cut, or one line per column where
 * that would leave too little of each. Pure; everything is decided by the first rows.
 */

interface Column {
  readonly title: string;
  /** For numbers, which are not cut. */
  readonly right?: true;
}

/** Lines as they are printed, each with its line break. */
export type ShowRows = (rows: readonly (readonly string[])[]) => string;

const gap = 2;
/** Of a value that is no number so much is shown, or the table is given up. */
const leastCells = 12;

/** @param rows the first ones, without control characters @param width of the terminal, in cells */
export function fitRows(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): ShowRows {
  const natural = columns.map(({ title }, at) =>
    Math.max(...[title, ...rows.map((row) => row[at] ?? '')].map(cellsOf)),
  );
  const widths = fittedWidths(columns, natural, width);
  return widths === undefined ? recordsOf(columns, width) : tableOf(columns, widths);
}

/** The natural widths, the widest lowered to one that all have room with; undefined where too little would be left. */
function fittedWidths(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): readonly number[] | undefined {
  const room = width - gap * (columns.length - 1);
  const capped = (most: number): readonly number[] =>
    natural.map((cells, at) => (columns[at]?.right === true ? cells : Math.min(cells, most)));
  const least = columns.length === 1 ? 1 : leastCells;
  for (let most = Math.max(least, room); most >= least; most -= 1) {
    const widths = capped(most);
    const left = room - widths.reduce((sum, cells) => sum + cells, 0);
    if (left >= 0) return widths.map((cells, at) => (isOpen(columns, at) ? cells + left : cells));
  }
  return undefined;
}

/** The end of the line is for what later rows have more of. */
function isOpen(columns: readonly Column[], at: number): boolean {
  return at === columns.length - 1 && columns[at]?.right !== true;
}

function tableOf(columns: readonly Column[], widths: readonly number[]): ShowRows {
  const line = (cells: readonly string[]): string => {
    const shown = columns.map(({ right }, at) => {
      const width = widths[at] ?? 0;
      const text = cut(cells[at] ?? '', width);
      const space = ' '.repeat(width - cellsOf(text));
      return right === true ? space + text : text + space;
    });
    return `${shown.join(' '.repeat(gap)).trimEnd()}\n`;
  };
  let begun = false;
  return (rows) => {
    const titles = begun ? [] : [columns.map(({ title }) => title)];
    begun = true;
    return [...titles, ...rows].map(line).join('');
  };
}

/** As `\x` of psql: a line with the number of the row, then one for each column. */
function recordsOf(columns: readonly Column[], width: number): ShowRows {
  const widest = Math.max(...columns.map(({ title }) => cellsOf(title)));
  const titles = Math.max(1, Math.min(widest, Math.floor(width / 2)));
  let number = 0;
  return (rows) =>
    rows
      .map((row) => {
        number += 1;
        const head = cut(`-[ ${String(number)} ]${'-'.repeat(width)}`, width, '');
        const lines = columns.map(({ title }, at) => {
          const name = cut(title, titles);
          const value = cut(row[at] ?? '', Math.max(1, width - titles - gap));
          return `${name}${' '.repeat(titles - cellsOf(name) + gap)}${value}`.trimEnd();
        });
        return `${[head, ...lines].join('\n')}\n`;
      })
      .join('');
}

/** The beginning of a text that fits, and `…` for the rest. */
function cut(text: string, width: number, mark = '…'): string {
  if (text.length <= width && plain.test(text)) return text;
  let shown = '';
  let cells = 0;
  let kept = '';
  for (const character of text) {
    cells += cellOf(character);
    if (cells > width) return kept + mark;
    shown += character;
    if (cells <= width - mark.length) kept = shown;
  }
  return text;
}

const plain = /^[\x20-\x7e]*$/;
const without = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** Wide in the sense of Unicode's East Asian widths, nearly. */
const twice =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

function cellOf(character: string): number {
  return without.test(character) ? 0 : twice.test(character) ? 2 : 1;
}

/** Places that a text takes on a terminal. */
function cellsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += cellOf(character);
  return cells;
}
