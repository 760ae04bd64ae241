/**
 * Rows that commands print: for people an aligned table with long ids shortened, for programs JSON with everything. Each
 * write waits until it is taken, so that a slow reader slows the ledger's stream down instead of filling the memory.
 */
import type { Writable } from 'node:stream';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { escapeFormat, escapeSteeringInLines } from '../../errors/visible-text.ts';
import { aligned, lineUp } from './aligned.ts';

export interface Column {
  readonly title: string;
  /** For numbers; they are never cut. */
  readonly right?: true;
  /** Width at least, where a stream shows its first row before it has seen the wider ones. */
  readonly least?: number;
}

/** How rows of one kind are shown. */
export interface RowFormat<T> {
  readonly columns: readonly Column[];
  /** The lines of a row in the table, each with a cell for every column. */
  lines(row: T): readonly (readonly string[])[];
  /** The row as one line of JSON. */
  json(row: T): string;
}

export interface Output {
  /** Rows as they come, a batch at a time. */
  rows<T>(batches: AsyncIterable<readonly T[]>, format: RowFormat<T>): Promise<void>;
  /** One object; `pairs` is what a person sees of it. */
  object(value: object, pairs: readonly (readonly [name: string, value: string])[]): Promise<void>;
  /** Text of the ledger as it is. */
  text(text: string): Promise<void>;
  /** A part of a line. */
  piece(text: string): Promise<void>;
}

/** Wider cells overflow into the next column; the width is found out from the first batch. */
const widestColumn = 60;

/**
 * @param table true: for people, false: for programs
 * @param width of the terminal that tables have to fit on; undefined: nothing is cut
 */
export function createOutput(stdout: Writable, table: boolean, width?: number): Output {
  // Each write has its own callback; without a listener the same error would end the process.
  stdout.on('error', () => undefined);
  // Tables are made visible cell by cell, with colours of ours between them. For programs nothing is changed.
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
      const shown = isTerminal ? escapeSteeringInLines(text) : text;
      await write(shown.endsWith('\n') ? shown : `${shown}\n`);
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

/** OUTPUT_CLOSED: whoever read the output has seen enough (`| head`), which is no failure. */
function outputError(cause: Error): IndexerError {
  const errno = 'code' in cause ? String(cause.code) : 'unknown reason';
  const gone = goneCodes.has(errno);
  return new IndexerError(`cannot write the output: ${errno}`, {
    code: gone ? 'OUTPUT_CLOSED' : 'OUTPUT_NOT_WRITTEN',
    retry: 'fatal',
    exitCode: gone ? ExitCode.stopped : ExitCode.temporary,
    remedy: 'check where the output goes: is the disk full?',
    cause,
  });
}

async function writeLines<T>(write: Write, batches: AsyncIterable<readonly T[]>, format: RowFormat<T>): Promise<void> {
  // A line break between the tokens of JSON is mere layout, and would make two lines of one row.
  const lineOf = (row: T): string => `${format.json(row).replaceAll(/[\r\n]+/g, ' ')}\n`;
  for await (const batch of batches) {
    for (const piece of joined(batch, lineOf)) await write(piece);
  }
}

/** Characters that are written at once, more or less. */
const pieceLength = 1_000_000;

/** The lines of these rows in few pieces, however long they are: there is a longest string. */
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
  let show: ShowRows | undefined;
  for await (const batch of batches) {
    const lines = batch.flatMap((row) => format.lines(row).map((line) => line.map(visible)));
    if (lines.length === 0) continue;
    show ??= width === undefined ? wholeRows(columns, lines) : fitRows(columns, lines, width);
    await write(show(lines));
  }
  if (show === undefined) await write('none\n');
}

/** A table in which wider cells overflow. @param first the first lines, which decide on the widths */
function wholeRows(columns: readonly Column[], first: readonly (readonly string[])[]): ShowRows {
  const titles = columns.map(({ title }) => title);
  const places = columns.map((column) => ({ ...column, most: widestColumn }));
  const lineOf = lineUp([titles, ...first], { columns: places });
  let begun = false;
  return (lines) => {
    const shown = begun ? lines : [titles, ...lines];
    begun = true;
    return shown.map((line) => `${lineOf(line).trimEnd()}\n`).join('');
  };
}

function pairLines(pairs: readonly (readonly [string, string])[]): string {
  const lines = aligned(pairs.map(([name, value]) => [name, visible(value)]));
  return lines.map((line) => `${line}\n`).join('');
}

/** Text of the ledger must not steer the terminal, nor look like another one. */
export function visible(text: string): string {
  return escapeFormat(text.replaceAll(/\p{Cc}+/gu, ' '));
}

/** An id short enough for a table: the name in front of `::` stays whole. */
export function shortId(id: string): string {
  const at = id.lastIndexOf('::');
  if (at >= 0) return `${id.slice(0, at)}::${id.length > at + 12 ? `${id.slice(at + 2, at + 10)}…` : id.slice(at + 2)}`;
  return id.length <= 24 ? id : `${id.slice(0, 12)}…${id.slice(-6)}`;
}

/** Rows that are known at once, as one batch. */
export async function* oneBatch<T>(rows: readonly T[] | Promise<readonly T[]>): AsyncGenerator<readonly T[]> {
  yield await rows;
}

/** Ends after so many rows; undefined is no limit. */
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

// On a terminal of known width no row is wider than it (aligned.ts lets wide cells push the line): a table whose long values are cut, or one line per column where
// that would leave too little of each. Pure; everything is decided by the first rows.

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
export function cut(text: string, width: number, mark = '…'): string {
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
