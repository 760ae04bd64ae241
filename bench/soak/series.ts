/** The values that must not grow, and their slopes in one piece or in several. */
import type { DoneFault } from './faults.ts';
import type { Sample } from './samples.ts';
import { fitSlope, segmentsOf, verdictOf, type BlockPlan, type Point, type Slope, type Verdict } from './slopes.ts';

interface Series {
  readonly name: string;
  readonly unit: string;
  /** Key of the samples. */
  readonly key: string;
  /** Whether the value is the increase of the key per second, times `factor`. */
  readonly rateFactor?: number;
  /** The process whose starts divide the series. */
  readonly process?: 'indexer' | 'postgres';
  /** The value grows if its slope per hour is above the larger one of both: absolute, and a share of its mean. */
  readonly threshold: number;
  readonly thresholdShare?: number;
  /** Whether growth is expected, because the number of active contracts grows: no verdict. */
  readonly mayGrow?: boolean;
}

export const seriesList: readonly Series[] = [
  { name: 'indexer memory', unit: 'MiB', key: 'rss', process: 'indexer', threshold: 5 },
  { name: 'indexer heap', unit: 'MiB', key: 'heap', process: 'indexer', threshold: 5 },
  { name: 'indexer buffers', unit: 'MiB', key: 'external', process: 'indexer', threshold: 3 },
  { name: 'indexer open files', unit: '', key: 'files', process: 'indexer', threshold: 2 },
  { name: 'Postgres private memory', unit: 'MiB', key: 'postgres_private', process: 'postgres', threshold: 10 },
  { name: 'connections', unit: '', key: 'connections', threshold: 0.5 },
  { name: 'WAL files', unit: 'MiB', key: 'wal_files', threshold: 40 },
  { name: 'WAL rate', unit: 'KiB/s', key: 'wal_position', rateFactor: 1_024, threshold: 10, thresholdShare: 0.05 },
  { name: 'pruned tables', unit: 'MiB', key: 'pruned_tables', threshold: 5, thresholdShare: 0.03 },
  { name: 'lag', unit: 'updates', key: 'lag', threshold: 50 },
  { name: 'lag of clients', unit: 'updates', key: 'client_lag', threshold: 200 },
  { name: 'webhook backlog', unit: 'events', key: 'backlog', threshold: 50 },
  { name: 'clients of /changes', unit: '', key: 'clients', threshold: 1 },
  { name: 'database', unit: 'MiB', key: 'database', threshold: 0, mayGrow: true },
  { name: 'active contracts', unit: '', key: 'active_contracts', threshold: 0, mayGrow: true },
];

/** Result of a series in one piece, or in all pieces together. */
export interface SeriesResult {
  readonly name: string;
  readonly unit: string;
  readonly slope: Slope | undefined;
  readonly threshold: number;
  readonly verdict: Verdict | 'may grow';
}

export interface AnalyzedPiece {
  readonly piece: number;
  /** Seconds of traffic before the piece, and in it. */
  readonly begin: number;
  readonly seconds: number;
  readonly faults: readonly DoneFault[];
}

const longest = { warmUp: 600, block: 300, postgresWarmUp: 180, postgresBlock: 120 } as const;

/** Blocks of five minutes after ten; in short pieces a share of the piece. Postgres is restarted more often. */
export function blockPlan(seconds: number, process: Series['process']): BlockPlan {
  return process === 'postgres'
    ? {
        warmUpSeconds: Math.min(longest.postgresWarmUp, seconds / 40),
        blockSeconds: Math.min(longest.postgresBlock, seconds / 40),
      }
    : { warmUpSeconds: Math.min(longest.warmUp, seconds / 6), blockSeconds: Math.min(longest.block, seconds / 24) };
}

export function analyze(samples: readonly Sample[], pieces: readonly AnalyzedPiece[]): readonly SeriesResult[] {
  const seconds = Math.max(...pieces.map((piece) => piece.seconds));
  const inside = samples.filter(({ piece }) => pieces.some((analyzed) => analyzed.piece === piece));
  return seriesList.map((series) => {
    const plan = blockPlan(seconds, series.process);
    const slope = fitSlope(segmentsOf(pointsOf(series, inside), startsOf(series, pieces)), plan);
    const threshold = Math.max(series.threshold, (series.thresholdShare ?? 0) * (slope?.mean ?? 0));
    const verdict = series.mayGrow === true ? 'may grow' : verdictOf(slope, threshold, plan);
    return { name: series.name, unit: series.unit, slope, threshold, verdict };
  });
}

function pointsOf({ key, rateFactor }: Series, samples: readonly Sample[]): readonly Point[] {
  const points = samples.flatMap(({ at, values }) => (values[key] === undefined ? [] : [{ at, value: values[key] }]));
  if (rateFactor === undefined) return points;
  return points.slice(1).flatMap(({ at, value }, index) => {
    const before = points[index];
    return before === undefined || at <= before.at
      ? []
      : [{ at, value: (rateFactor * (value - before.value)) / (at - before.at) }];
  });
}

/** Times at which the process of a series was started. */
function startsOf({ process }: Series, pieces: readonly AnalyzedPiece[]): readonly number[] {
  if (process === undefined) return [];
  return pieces.flatMap(({ begin, faults }) => [
    begin,
    ...faults.filter(({ kind }) => kind.startsWith(process)).map(({ at, seconds }) => begin + at + seconds),
  ]);
}
