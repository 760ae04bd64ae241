/**
 * The order of offsets on a stream. Offsets only increase, so an update can be classified by its offset alone. Pure.
 */

/** The state of the stream so far. */
export interface OffsetState {
  /** Offset of the newest update. */
  readonly seen: number;
  /** Offset of the newest OffsetCheckpoint: all updates up to it have arrived. */
  readonly complete: number;
  /** Last offset of the stream; undefined if the stream has no end. */
  readonly end: number | undefined;
}

/**
 * - `new`: after all received updates;
 * - `repeated`: the newest update again, as after an interrupted connection;
 * - `late`: before the newest update, or within the range reported as complete: it may never have been seen;
 * - `past the end`: beyond the requested range.
 */
export type OffsetOrder = 'new' | 'repeated' | 'late' | 'past the end';

export function orderOfOffset(offset: number, { seen: newestOffset, complete, end }: OffsetState): OffsetOrder {
  if (end !== undefined && offset > end) return 'past the end';
  if (offset === newestOffset) return 'repeated';
  return offset < newestOffset || offset <= complete ? 'late' : 'new';
}
