/**
 * Prints the rows of a command. People get an aligned table with shortened ids, and programs get complete JSON. Each
 * write waits until the output accepts it. A slow reader then slows down the ledger stream and does not fill the
 * memory.
 */
import type { Writable } from 'node:stream';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { escapeFormat, escapeSteeringInLines } from '../../errors/visible-text.ts';
import { aligned, lineUp } from './aligned.ts';

export interface Column {
  readonly title: string;
  /** For numbers: aligns cells to the right and never truncates them. */
  readonly right?: true;
  /** Minimum width. Used for streams, whose first rows are printed before wider rows arrive. */
  readonly least?: number;
}

/** The format in which rows of one kind are printed. */
export interface RowFormat<T> {
  readonly columns: readonly Column[];
  /** The lines of a row in the table, with a cell for every column. */
  lines(row: T): readonly (readonly string[])[];
  /** The row as one line of JSON. */
  json(row: T): string;
}

export interface Output {
  /** Prints rows as they arrive, in batches. */
  rows<T>(batches: AsyncIterable<readonly T[]>, format: RowFormat<T>): Promise<void>;
  /** Prints one object. As a table, it is printed as `pairs`, one per line. */
  object(value: object, pairs: readonly (readonly [name: string, value: string])[]): Promise<void>;
  /** Prints text of the ledger unchanged. */
  text(text: string): Promise<void>;
  /** Prints text without a line break. */
  piece(text: string): Promise<void>;
}

/**
 * Maximum width of a column in cells. Wider cells overflow into the next column. The widths are determined from the
 * first batch.
 */
const widestColumn = 60;

/**
 * @param table true for people, false for programs
 * @param width width of the terminal that tables have to fit; undefined truncates nothing
 */
export function createOutput(stdout: Writable, table: boolean, width?: number): Output {
  // Each write has its own callback. Without this listener, Node would also throw the same error as uncaught and end
  // the process.
  stdout.on('error', () => undefined);
  // Tables are escaped cell by cell, because they contain color codes that we add. Output for programs is not escaped.
  const isTerminal = 'isTTY' in stdout && stdout.isTTY === true;
  const write = (text: string): Promise<void> => written(stdout, isTerminal ? escapeFormat(text) : text);
  return {
    rows: async (batches, format) => {
      if (table) await writeTable(write, batches, format, width);
      else await writeLines(write, batches, format);
    },
    object: async (value, pairs) => {
      await write(table ? pairLines(pairs) : `${JSON.stringify(value)}\n`);
    },
    text: async (text) => {
      const escapedText = isTerminal ? escapeSteeringInLines(text) : text;
      await write(escapedText.endsWith('\n') ? escapedText : `${escapedText}\n`);
    },
    piece: write,
  };
}

type Write = (text: string) => Promise<void>;

function written(stdout: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (cause) => {
      if (cause === undefined || cause === null) resolve();
      else reject(outputError(cause));
    });
  });
}

const goneCodes = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ECONNRESET']);

/** OUTPUT_CLOSED means that the reader closed the pipe (`| head`), which is not a failure. */
function outputError(cause: Error): IndexerError {
  const errno = 'code' in cause ? String(cause.code) : 'unknown reason';
  const gone = goneCodes.has(errno);
  return new IndexerError(`cannot write the output: ${errno}`, {
    code: gone ? 'OUTPUT_CLOSED' : 'OUTPUT_NOT_WRITTEN',
    retry: 'fatal',
    exitCode: gone ? ExitCode.stopped : ExitCode.temporary,
    remedy: 'check the target of the output, for example whether its disk is full',
    cause,
  });
}

async function writeLines<T>(write: Write, batches: AsyncIterable<readonly T[]>, format: RowFormat<T>): Promise<void> {
  // A line break between JSON tokens is only formatting, but it would split a row into two lines.
  const lineOf = (row: T): string => `${format.json(row).replaceAll(/[\r\n]+/g, ' ')}\n`;
  for await (const batch of batches) {
    for (const piece of joined(batch, lineOf)) await write(piece);
  }
}

/** Approximate number of characters that are written at once. */
const pieceLength = 1_000_000;

/** Joins the lines of these rows into pieces of limited length, because the length of a string is limited. */
export function* joined<T>(rows: readonly T[], lineOf: (row: T) => string): Generator<string> {
  let piece = '';
  for (const row of rows) {
    piece += lineOf(row);
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

async function writeTable<T>(
  write: Write,
  batches: AsyncIterable<readonly T[]>,
  format: RowFormat<T>,
  width: number | undefined,
): Promise<void> {
  const columns = format.columns.map((column) => ({ ...column, title: visible(column.title) }));
  let formatLines: ShowRows | undefined;
  for await (const batch of batches) {
    const lines = batch.flatMap((row) => format.lines(row).map((line) => line.map(visible)));
    if (lines.length === 0) continue;
    formatLines ??= width === undefined ? overflowRows(columns, lines) : fitRows(columns, lines, width);
    await write(formatLines(lines));
  }
  if (formatLines === undefined) await write('none\n');
}

/**
 * A table in which a wider cell shifts the rest of its line.
 * @param first the first lines, which determine the widths
 */
function overflowRows(columns: readonly Column[], first: readonly (readonly string[])[]): ShowRows {
  const titles = columns.map(({ title }) => title);
  const places = columns.map((column) => ({ ...column, most: widestColumn }));
  const lineOf = lineUp([titles, ...first], { columns: places });
  let begun = false;
  return (lines) => {
    const allLines = begun ? lines : [titles, ...lines];
    begun = true;
    return allLines.map((line) => `${lineOf(line).trimEnd()}\n`).join('');
  };
}

function pairLines(pairs: readonly (readonly [string, string])[]): string {
  const lines = aligned(pairs.map(([name, value]) => [name, visible(value)]));
  return lines.map((line) => `${line}\n`).join('');
}

/** Escapes text of the ledger, so that it can neither control the terminal nor imitate other text. */
export function visible(text: string): string {
  return escapeFormat(text.replaceAll(/\p{Cc}+/gu, ' '));
}

/** Shortens an id for a table. The name in front of `::` stays complete. */
export function shortId(id: string): string {
  const at = id.lastIndexOf('::');
  if (at >= 0) return `${id.slice(0, at)}::${id.length > at + 12 ? `${id.slice(at + 2, at + 10)}…` : id.slice(at + 2)}`;
  return id.length <= 24 ? id : `${id.slice(0, 12)}…${id.slice(-6)}`;
}

/** Rows that already exist, as a single batch. */
export async function* oneBatch<T>(rows: readonly T[] | Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield await rows;
}

/** Ends after this many rows; undefined means no limit. */
export async function* limited<T>(
  batches: AsyncIterable<readonly T[]>,
  limit: number | undefined,
): AsyncGenerator<readonly T[]> {
  let left = limit ?? Number.POSITIVE_INFINITY;
  for await (const batch of batches) {
    yield batch.length > left ? batch.slice(0, left) : batch;
    left -= batch.length;
    if (left <= 0) return;
  }
}

// Fits rows to a terminal of known width. No row is wider than the terminal, whereas cells of aligned.ts may overflow.
// Long values are truncated. If too little of each value would remain, every column is printed on its own line. The
// first rows determine the format. Pure.

/** Lines to print, each with its line break. */
export type ShowRows = (rows: readonly (readonly string[])[]) => string;

const gap = 2;
/**
 * Minimum width of a value that is not a number. If this width does not fit, every column is printed on its own line.
 */
const leastCells = 12;

/**
 * @param rows the first rows, without control characters
 * @param width width of the terminal in cells
 */
export function fitRows(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): ShowRows {
  const natural = columns.map(({ title }, at) =>
    Math.max(...[title, ...rows.map((row) => row[at] ?? '')].map(cellsOf)),
  );
  const widths = fittedWidths(columns, natural, width);
  return widths === undefined ? recordsOf(columns, width) : tableOf(columns, widths);
}

/**
 * The natural widths of the columns. The widest columns are reduced until all columns fit. Undefined if too little of a
 * column would remain.
 */
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

/** Whether longer values in later rows may use the rest of the line. */
function isOpen(columns: readonly Column[], at: number): boolean {
  return at === columns.length - 1 && columns[at]?.right !== true;
}

function tableOf(columns: readonly Column[], widths: readonly number[]): ShowRows {
  const line = (cells: readonly string[]): string => {
    const paddedCells = columns.map(({ right }, at) => {
      const width = widths[at] ?? 0;
      const text = cut(cells[at] ?? '', width);
      const space = ' '.repeat(width - cellsOf(text));
      return right === true ? space + text : text + space;
    });
    return `${paddedCells.join(' '.repeat(gap)).trimEnd()}\n`;
  };
  let begun = false;
  return (rows) => {
    const titles = begun ? [] : [columns.map(({ title }) => title)];
    begun = true;
    return [...titles, ...rows].map(line).join('');
  };
}

/** Formats rows like `\x` of psql: a line with the number of the row, and then one line per column. */
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

/** The beginning of a text that fits, followed by `…` in place of the rest. */
export function cut(text: string, width: number, mark = '…'): string {
  if (text.length <= width && plain.test(text)) return text;
  let prefix = '';
  let cells = 0;
  let kept = '';
  for (const character of text) {
    cells += cellOf(character);
    if (cells > width) return kept + mark;
    prefix += character;
    if (cells <= width - mark.length) kept = prefix;
  }
  return text;
}

const plain = /^[\x20-\x7e]*$/;
const without = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** Characters that are two cells wide. This approximates East Asian Width of Unicode. */
const twice =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

function cellOf(character: string): number {
  return without.test(character) ? 0 : twice.test(character) ? 2 : 1;
}

/** The number of terminal cells of a text. */
function cellsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += cellOf(character);
  return cells;
}
