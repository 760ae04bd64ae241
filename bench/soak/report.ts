/** The tables of a soak. */
import type { PieceResult } from './piece.ts';
import type { SeriesResult } from './series.ts';

const number = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))),
    )
    .map((cells) => `${cells.join('  ').trimEnd()}\n`)
    .join('');
}

/** One line for each series: mean, slope per hour with its standard error, threshold, verdict. */
export function slopeTable(results: readonly SeriesResult[]): string {
  return table([
    ['series', 'mean', 'slope/h', 'error', 'threshold', 'blocks', 'verdict'],
    ...results.map(({ name, unit, slope, threshold, verdict }) => [
      unit === '' ? name : `${name}, ${unit}`,
      slope === undefined ? '' : number(slope.mean),
      slope === undefined ? '' : number(slope.perHour),
      slope === undefined ? '' : number(slope.error),
      verdict === 'may grow' ? '' : number(threshold),
      slope === undefined ? '' : String(slope.blocks),
      verdict,
    ]),
  ]);
}

export function pieceText(result: PieceResult, slopes: readonly SeriesResult[]): string {
  const { piece, seconds, faults, checks, reader, tokens, updates } = result;
  const kinds = new Set(faults.map(({ kind }) => kind));
  const faultTexts = [...kinds].map(
    (kind) => `${kind} ${String(faults.filter((fault) => fault.kind === kind).length)}`,
  );
  const statuses = Object.entries(reader.statuses).map(([status, count]) => `${status}: ${String(count)}`);
  return [
    `piece ${String(piece)}: ${(seconds / 60).toFixed(0)} min; ${String(updates)} updates since the start; ${String(tokens)} tokens; ${faultTexts.join(', ')}\n`,
    `API: ${String(reader.requests)} requests (${statuses.join(', ')}); median ${String(reader.medianMs)} ms, p99 ${String(reader.p99Ms)} ms\n`,
    ...checks.map(({ name, isPassed, text }) => `${isPassed ? 'pass' : 'FAIL'}  ${name}: ${text}\n`),
    slopeTable(slopes),
    '\n',
  ].join('');
}
