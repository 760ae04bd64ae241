/** Results over many rounds: medians and ranges, rates and CPU time per event, and the lines of the table. */
import type { Cost } from './cost.ts';
import type { Weight } from './weight.ts';

/** Results of one run; undefined values were not, or could not be, measured. */
export interface Figure {
  /** Events per second; for a seed, contracts per second. */
  readonly rate?: number | undefined;
  readonly steadyRate?: number | undefined;
  /** Microseconds of CPU per event. */
  readonly nodeUs?: number | undefined;
  readonly postgresUs?: number | undefined;
  readonly replayUs?: number | undefined;
  /**
   * CPU time of Postgres including the vacuum and the checkpoint after the run. For runs over old contracts, only the
   * checkpoint is included. See weight.ts.
   */
  readonly wholePostgresUs?: number | undefined;
  /** CPU of the vacuum, if it is not part of `wholePostgresUs`. */
  readonly vacuumUs?: number | undefined;
  /** Per event, like the following fields. */
  readonly walBytes?: number | undefined;
  readonly fullPages?: number | undefined;
  readonly heapBytes?: number | undefined;
  readonly indexBytes?: number | undefined;
  /** Bytes of tables and indexes. */
  readonly bytes?: number | undefined;
  /** Number of events in one checkpoint cycle. */
  readonly cycleEvents?: number | undefined;
  readonly peakRssMiB?: number | undefined;
  readonly error?: string | undefined;
}

export interface Line {
  readonly profile: string;
  readonly name: string;
  readonly figures: Figure[];
}

export interface Run extends Cost {
  readonly error?: string | undefined;
  readonly peakRssMiB?: number | undefined;
  readonly weight?: Weight | undefined;
}

/** The results of a run over the given number of events. */
export function figureOf(
  run: Run,
  events: number,
  steadyWindow?: { readonly events: number; readonly cost: Cost },
): Figure {
  const perEvent = (sum: number | undefined) => (sum === undefined ? undefined : sum / events);
  const { weight } = run;
  return {
    rate: events / run.seconds,
    steadyRate: steadyWindow === undefined ? undefined : steadyWindow.events / steadyWindow.cost.seconds,
    nodeUs: perEvent(run.nodeCpu),
    postgresUs: perEvent(run.postgresCpu),
    replayUs: perEvent(run.replayCpu),
    wholePostgresUs: perEvent(weight?.postgresCpu),
    vacuumUs: perEvent(weight?.vacuumCpu),
    walBytes: perEvent(weight?.walBytes),
    fullPages: perEvent(weight?.fullPages),
    heapBytes: perEvent(weight?.heapBytes),
    indexBytes: perEvent(weight?.indexBytes),
    bytes: weight === undefined ? undefined : perEvent(weight.heapBytes + weight.indexBytes),
    cycleEvents: weight === undefined ? undefined : events / weight.checkpoints,
    peakRssMiB: run.peakRssMiB,
    error: run.error,
  };
}

/** Undefined for an empty list. */
export function median(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sortedValues = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sortedValues.length / 2);
  const upperMiddle = sortedValues[middle] ?? 0;
  return sortedValues.length % 2 === 1 ? upperMiddle : (upperMiddle + (sortedValues[middle - 1] ?? 0)) / 2;
}

export type Column = Exclude<keyof Figure, 'error'>;

/** The values of one column in all rounds without an error. */
export function values(line: Line | undefined, column: Column): readonly number[] {
  return (line?.figures ?? [])
    .filter(({ error }) => error === undefined)
    .map((figure) => figure[column])
    .filter((value) => value !== undefined);
}

/** Median of one column. */
export function middle(line: Line | undefined, column: Column): number | undefined {
  return median(values(line, column));
}

/**
 * Median over the rounds of the ratio of two lines, by default of their rates. The ratio is computed per round, because
 * the runs of a round had the same machine load. Undefined if no round has both values.
 */
export function ratio(dividend: Line | undefined, to: Line | undefined, column: Column = 'rate'): number | undefined {
  if (dividend === undefined || to === undefined) return undefined;
  const ratios = dividend.figures.flatMap((figure, round) => {
    const otherFigure = to.figures[round];
    const valid = figure.error === undefined && otherFigure?.error === undefined;
    const [value, otherValue] = [figure[column], otherFigure?.[column]];
    return valid && value !== undefined && otherValue !== undefined && otherValue !== 0 ? [value / otherValue] : [];
  });
  return median(ratios);
}

const kilo = (value: number): string => (value >= 10_000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value)));
const formatValue = (value: number | undefined, digits = 1): string =>
  value === undefined ? '-' : value.toFixed(digits);

function cells(line: Line): readonly string[] {
  const rates = values(line, 'rate');
  const rate = median(rates);
  const rangeText = rates.length < 2 ? '' : `[${kilo(Math.min(...rates))}-${kilo(Math.max(...rates))}]`;
  const steadyMedian = middle(line, 'steadyRate');
  const errors = line.figures.filter(({ error }) => error !== undefined).length;
  return [
    line.profile,
    line.name,
    rate === undefined ? '-' : kilo(rate),
    rangeText,
    steadyMedian === undefined ? '-' : kilo(steadyMedian),
    formatValue(middle(line, 'nodeUs')),
    formatValue(middle(line, 'postgresUs')),
    formatValue(middle(line, 'replayUs')),
    formatValue(middle(line, 'peakRssMiB'), 0),
    errors === 0 ? '' : `${String(errors)} BAD`,
  ];
}

const heads = ['profile', 'what', 'events/s', 'min-max', 'steady', 'node us', 'pg us', 'replay us', 'peak MiB', ''];

/** The results as a table with aligned columns. */
export function tableOf(lines: readonly Line[]): string {
  return aligned([heads, ...lines.map(cells)]);
}

const weightHeads = [
  'profile',
  'per event',
  'heap B',
  'index B',
  'WAL B',
  'full pages',
  'node us',
  'pg us',
  'vacuum us',
  'cycle',
];

/** Storage and log per event of the lines that were weighed; undefined if there are none. */
export function weightTable(lines: readonly Line[]): string | undefined {
  const rows = lines
    .filter((line) => values(line, 'walBytes').length > 0)
    .map((line) => [
      line.profile,
      line.name,
      formatValue(middle(line, 'heapBytes'), 0),
      formatValue(middle(line, 'indexBytes'), 0),
      formatValue(middle(line, 'walBytes'), 0),
      formatValue(middle(line, 'fullPages'), 3),
      formatValue(middle(line, 'nodeUs')),
      formatValue(middle(line, 'wholePostgresUs')),
      formatValue(middle(line, 'vacuumUs')),
      kilo(middle(line, 'cycleEvents') ?? 0),
    ]);
  return rows.length === 0 ? undefined : aligned([weightHeads, ...rows]);
}

/** Rows of text with aligned columns: the first two are left-aligned, the others right-aligned. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
