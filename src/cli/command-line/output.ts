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
const maxColumnWidth = 60;

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
  const write = (text: string): Promise<void> => writeText(stdout, isTerminal ? escapeFormat(text) : text);
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

type WriteText = (text: string) => Promise<void>;

function writeText(stdout: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (cause) => {
      if (cause === undefined || cause === null) resolve();
      else reject(outputError(cause));
    });
  });
}

const closedPipeCodes = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ECONNRESET']);

/** OUTPUT_CLOSED means that the reader closed the pipe (`| head`), which is not a failure. */
function outputError(cause: Error): IndexerError {
  const errno = 'code' in cause ? String(cause.code) : 'unknown reason';
  const isPipeClosed = closedPipeCodes.has(errno);
  return new IndexerError(`cannot write the output: ${errno}`, {
    code: isPipeClosed ? 'OUTPUT_CLOSED' : 'OUTPUT_NOT_WRITTEN',
    retry: 'fatal',
    exitCode: isPipeClosed ? ExitCode.stopped : ExitCode.temporary,
    remedy: 'check the target of the output, for example whether its disk is full',
    cause,
  });
}

async function writeLines<T>(
  write: WriteText,
  batches: AsyncIterable<readonly T[]>,
  format: RowFormat<T>,
): Promise<void> {
  // A line break between JSON tokens is only formatting, but it would split a row into two lines.
  const lineOf = (row: T): string => `${format.json(row).replaceAll(/[\r\n]+/g, ' ')}\n`;
  for await (const batch of batches) {
    for (const chunk of joinRows(batch, lineOf)) await write(chunk);
  }
}

/** Approximate number of characters that are written at once. */
const chunkLength = 1_000_000;

/** Joins the lines of these rows into pieces of limited length, because the length of a string is limited. */
export function* joinRows<T>(rows: readonly T[], lineOf: (row: T) => string): Generator<string> {
  let chunk = '';
  for (const row of rows) {
    chunk += lineOf(row);
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

async function writeTable<T>(
  write: WriteText,
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
  const boundedColumns = columns.map((column) => ({ ...column, most: maxColumnWidth }));
  const lineOf = lineUp([titles, ...first], { columns: boundedColumns });
  let hasStarted = false;
  return (lines) => {
    const allLines = hasStarted ? lines : [titles, ...lines];
    hasStarted = true;
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
  const separatorIndex = id.lastIndexOf('::');
  if (separatorIndex >= 0)
    return `${id.slice(0, separatorIndex)}::${id.length > separatorIndex + 12 ? `${id.slice(separatorIndex + 2, separatorIndex + 10)}…` : id.slice(separatorIndex + 2)}`;
  return id.length <= 24 ? id : `${id.slice(0, 12)}…${id.slice(-6)}`;
}

/** Rows that already exist, as a single batch. */
export async function* singleBatch<T>(rows: readonly T[] | Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield await rows;
}

/** Ends after this many rows; undefined means no limit. */
export async function* limitBatches<T>(
  batches: AsyncIterable<readonly T[]>,
  limit: number | undefined,
): AsyncGenerator<readonly T[]> {
  let remaining = limit ?? Number.POSITIVE_INFINITY;
  for await (const batch of batches) {
    yield batch.length > remaining ? batch.slice(0, remaining) : batch;
    remaining -= batch.length;
    if (remaining <= 0) return;
  }
}

// Fits rows to a terminal of known width. No row is wider than the terminal, whereas cells of aligned.ts may overflow.
// Long values are truncated. If too little of each value would remain, every column is printed on its own line. The
// first rows determine the format. Pure.

/** Lines to print, each with its line break. */
export type ShowRows = (rows: readonly (readonly string[])[]) => string;

const gapWidth = 2;
/**
 * Minimum width of a value that is not a number. If this width does not fit, every column is printed on its own line.
 */
const minCellWidth = 12;

/**
 * @param rows the first rows, without control characters
 * @param width width of the terminal in cells
 */
export function fitRows(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): ShowRows {
  const naturalWidths = columns.map(({ title }, index) =>
    Math.max(...[title, ...rows.map((row) => row[index] ?? '')].map(cellsOf)),
  );
  const widths = fittedWidths(columns, naturalWidths, width);
  return widths === undefined ? recordsOf(columns, width) : tableOf(columns, widths);
}

/**
 * The natural widths of the columns. The widest columns are reduced until all columns fit. Undefined if too little of a
 * column would remain.
 */
function fittedWidths(
  columns: readonly Column[],
  naturalWidths: readonly number[],
  width: number,
): readonly number[] | undefined {
  const availableWidth = width - gapWidth * (columns.length - 1);
  const capWidths = (maxWidth: number): readonly number[] =>
    naturalWidths.map((cells, index) => (columns[index]?.right === true ? cells : Math.min(cells, maxWidth)));
  const minWidth = columns.length === 1 ? 1 : minCellWidth;
  for (let maxWidth = Math.max(minWidth, availableWidth); maxWidth >= minWidth; maxWidth -= 1) {
    const widths = capWidths(maxWidth);
    const spareWidth = availableWidth - widths.reduce((sum, cells) => sum + cells, 0);
    if (spareWidth >= 0) return widths.map((cells, index) => (isOpen(columns, index) ? cells + spareWidth : cells));
  }
  return undefined;
}

/** Whether longer values in later rows may use the rest of the line. */
function isOpen(columns: readonly Column[], at: number): boolean {
  return at === columns.length - 1 && columns[at]?.right !== true;
}

function tableOf(columns: readonly Column[], widths: readonly number[]): ShowRows {
  const line = (cells: readonly string[]): string => {
    const paddedCells = columns.map(({ right }, index) => {
      const width = widths[index] ?? 0;
      const text = truncate(cells[index] ?? '', width);
      const space = ' '.repeat(width - cellsOf(text));
      return right === true ? space + text : text + space;
    });
    return `${paddedCells.join(' '.repeat(gapWidth)).trimEnd()}\n`;
  };
  let hasStarted = false;
  return (rows) => {
    const titles = hasStarted ? [] : [columns.map(({ title }) => title)];
    hasStarted = true;
    return [...titles, ...rows].map(line).join('');
  };
}

/** Formats rows like `\x` of psql: a line with the number of the row, and then one line per column. */
function recordsOf(columns: readonly Column[], width: number): ShowRows {
  const titleWidth = Math.max(...columns.map(({ title }) => cellsOf(title)));
  const titles = Math.max(1, Math.min(titleWidth, Math.floor(width / 2)));
  let number = 0;
  return (rows) =>
    rows
      .map((row) => {
        number += 1;
        const head = truncate(`-[ ${String(number)} ]${'-'.repeat(width)}`, width, '');
        const lines = columns.map(({ title }, index) => {
          const name = truncate(title, titles);
          const value = truncate(row[index] ?? '', Math.max(1, width - titles - gapWidth));
          return `${name}${' '.repeat(titles - cellsOf(name) + gapWidth)}${value}`.trimEnd();
        });
        return `${[head, ...lines].join('\n')}\n`;
      })
      .join('');
}

/** The beginning of a text that fits, followed by `…` in place of the rest. */
export function truncate(text: string, width: number, ellipsis = '…'): string {
  if (text.length <= width && printableAscii.test(text)) return text;
  let prefix = '';
  let cells = 0;
  let truncated = '';
  for (const character of text) {
    cells += cellOf(character);
    if (cells > width) return truncated + ellipsis;
    prefix += character;
    if (cells <= width - ellipsis.length) truncated = prefix;
  }
  return text;
}

const printableAscii = /^[\x20-\x7e]*$/;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** Characters that are two cells wide. This approximates East Asian Width of Unicode. */
const doubleWidth =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

function cellOf(character: string): number {
  return zeroWidth.test(character) ? 0 : doubleWidth.test(character) ? 2 : 1;
}

/** The number of terminal cells of a text. */
function cellsOf(text: string): number {
  if (printableAscii.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += cellOf(character);
  return cells;
}
