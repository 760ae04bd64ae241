/**
 * Slopes of samples over time, with their standard error. Neighboring samples depend on each other, so the line is
 * fitted to means of blocks. Each life of a process is a segment with a level of its own; all segments share the slope.
 */

export interface Point {
  /** Seconds since the beginning. */
  readonly at: number;
  readonly value: number;
}

export interface Segment {
  readonly points: readonly Point[];
}

export interface BlockPlan {
  /** Length of a block, seconds. */
  readonly blockSeconds: number;
  /** Seconds at the beginning of each segment that are not used. */
  readonly warmUpSeconds: number;
}

export interface Slope {
  readonly perHour: number;
  /** Standard error of `perHour`. */
  readonly error: number;
  /** Half width of the 95 % interval: the error times the quantile of Student's t distribution. */
  readonly margin: number;
  readonly mean: number;
  readonly blocks: number;
  readonly segments: number;
}

const secondsPerHour = 3_600;
/** A block with fewer points than this share of the usual number is left out. */
const leastShare = 0.5;
const maxCorrelation = 0.8;

interface Block {
  readonly at: number;
  readonly value: number;
}

/** Means of the complete blocks of a segment. */
export function blocksOf({ points }: Segment, { blockSeconds, warmUpSeconds }: BlockPlan): readonly Block[] {
  const from = (points[0]?.at ?? 0) + warmUpSeconds;
  const used = points.filter(({ at }) => at >= from);
  const last = used.at(-1)?.at ?? from;
  const count = Math.floor((last - from) / blockSeconds + 0.01);
  const blocks = Array.from({ length: count }, (_, index) => {
    const begin = from + index * blockSeconds;
    return used.filter(({ at }) => at >= begin && at < begin + blockSeconds);
  });
  const usual = Math.max(...blocks.map((block) => block.length), 1);
  return blocks
    .filter((block) => block.length >= usual * leastShare)
    .map((block) => ({ at: meanOf(block.map(({ at }) => at)), value: meanOf(block.map(({ value }) => value)) }));
}

/** Undefined if there are too few blocks for an error. */
export function fitSlope(segments: readonly Segment[], plan: BlockPlan): Slope | undefined {
  // A segment with one block has its own level and contributes nothing to the slope.
  const usable = segments.map((segment) => blocksOf(segment, plan)).filter((blocks) => blocks.length >= 2);
  const blocks = usable.flat();
  const freedom = blocks.length - usable.length - 1;
  if (freedom < 1) return undefined;
  const centered = usable.map((segment) => {
    const [x, y] = [meanOf(segment.map(({ at }) => at)), meanOf(segment.map(({ value }) => value))];
    return segment.map(({ at, value }) => ({ x: at - x, y: value - y }));
  });
  const sxx = sumOf(centered.flat().map(({ x }) => x * x));
  const slope = sumOf(centered.flat().map(({ x, y }) => x * y)) / sxx;
  const residuals = centered.map((segment) => segment.map(({ x, y }) => y - slope * x));
  const squares = sumOf(residuals.flat().map((value) => value * value));
  const error = Math.sqrt(squares / freedom / sxx) * inflationOf(residuals, squares) * secondsPerHour;
  return {
    perHour: slope * secondsPerHour,
    error,
    margin: error * studentQuantile(freedom),
    mean: meanOf(blocks.map(({ value }) => value)),
    blocks: blocks.length,
    segments: usable.length,
  };
}

/** Factor of the error if neighboring blocks still depend on each other: from the correlation of their residuals. */
function inflationOf(residuals: readonly (readonly number[])[], squares: number): number {
  if (squares === 0) return 1;
  const products = residuals.flatMap((segment) =>
    segment.slice(1).map((value, index) => value * (segment[index] ?? 0)),
  );
  const correlation = Math.min(maxCorrelation, Math.max(0, sumOf(products) / squares));
  return Math.sqrt((1 + correlation) / (1 - correlation));
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length;
}

/** Quantile 0.975 of Student's t distribution, rounded up. */
const quantiles = [12.71, 4.31, 3.19, 2.78, 2.58, 2.45, 2.37, 2.31, 2.27, 2.23];

export function studentQuantile(freedom: number): number {
  return quantiles[freedom - 1] ?? 1.96 + 2.7 / freedom;
}

export type Verdict = 'constant' | 'grows' | 'too short';

/** Hours of blocks that a verdict needs: shorter ones mostly contain the start of the processes. */
export const leastHours = 0.5;

/** A value grows if even the lower end of the interval of its slope is above the threshold. */
export function verdictOf(slope: Slope | undefined, threshold: number, plan: BlockPlan): Verdict {
  if (slope === undefined || (slope.blocks * plan.blockSeconds) / secondsPerHour < leastHours) return 'too short';
  return slope.perHour - slope.margin > threshold ? 'grows' : 'constant';
}

/** Divides points where a process was started again. */
export function segmentsOf(points: readonly Point[], starts: readonly number[]): readonly Segment[] {
  const bounds = [Number.NEGATIVE_INFINITY, ...[...starts].sort((one, other) => one - other), Number.POSITIVE_INFINITY];
  return bounds
    .slice(1)
    .map((end, index) => ({ points: points.filter(({ at }) => at >= (bounds[index] ?? 0) && at < end) }))
    .filter(({ points: inside }) => inside.length > 0);
}
