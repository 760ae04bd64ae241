/** The order of offsets on a stream: they only grow, so an offset alone tells what an update is. Pure. */

/** What has come so far. */
export interface Come {
  /** Offset of the newest update. */
  readonly seen: number;
  /** Newest OffsetCheckpoint: everything up to it has come. */
  readonly complete: number;
  /** Where the stream ends; undefined: nowhere. */
  readonly end: number | undefined;
}

/**
 * - `new`: after all that came;
 * - `repeated`: the newest one once more, as after a connection that was cut;
 * - `late`: before what came, or within what was said to be complete: it may be one that was never seen;
 * - `past the end`: beyond what was asked for.
 */
export type OffsetOrder = 'new' | 'repeated' | 'late' | 'past the end';

export function offsetOrder(offset: number, { seen, complete, end }: Come): OffsetOrder {
  if (end !== undefined && offset > end) return 'past the end';
  if (offset === seen) return 'repeated';
  return offset < seen || offset <= complete ? 'late' : 'new';
}
