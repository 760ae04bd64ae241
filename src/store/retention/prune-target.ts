/** Determines the offset up to which to prune, from the operator's boundary and the contents of the schema. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { tablesOf } from '../connection/query-builder.ts';

/**
 * Boundary of a prune: an offset (inclusive); everything recorded before a time; or everything older than this many
 * milliseconds before the newest record. `exportedTo`, if set, is an upper bound.
 */
export type PruneBefore = ({ readonly offset: number } | { readonly time: Date } | { readonly retentionMs: number }) & {
  readonly exportedTo?: number;
};

/**
 * Something that prevents pruning: a row of `retention_holds`, or an update whose record time is far ahead of the
 * updates around it.
 */
export interface HoldPosition {
  readonly name: string;
  /** History after this offset is retained. */
  readonly offset: number;
  /** For a hold, when it was placed. For an update, the median record time of the updates after it. */
  readonly since: Date;
  /** Set if this is an update. Only a boundary given as an offset may be beyond it. */
  readonly isFutureUpdate?: true;
}

export interface PruneTarget {
  /** Everything up to and including this offset is removed, except contracts that are active at it. */
  readonly boundary: number;
  readonly checkpoint: number;
  /** Offset of the previous prune; null if nothing was pruned. */
  readonly prunedToOffset: number | null;
  /** The hold or update that limits the boundary; null if none does. */
  readonly heldBy: HoldPosition | null;
}

/**
 * Determines the boundary. It is never beyond the checkpoint or a hold, and never before the previous boundary, so that
 * the next prune finishes an interrupted one.
 * @throws IndexerError NOTHING_TO_PRUNE if nothing is indexed yet
 */
export async function pruneTarget(client: ClientBase, before: PruneBefore): Promise<PruneTarget> {
  const stream = await tablesOf(client)
    .selectFrom('stream')
    .select(['checkpoint', 'seeded_at', 'pruned_to_offset'])
    .executeTakeFirst();
  if (stream === undefined || stream.checkpoint === null || stream.seeded_at === null) {
    throw new IndexerError('no complete seed is stored: there is nothing to prune', {
      code: 'NOTHING_TO_PRUNE',
      remedy: 'let `ledger-indexer run` finish the seed first, or name the right schema with POSTGRES_SCHEMA',
    });
  }
  const { checkpoint, pruned_to_offset: prunedToOffset } = stream;
  const requestedBoundary = await findRequestedBoundary(client, before, checkpoint);
  const maxBoundary = before.exportedTo ?? checkpoint;
  const requestedOffset = Math.min(requestedBoundary.offset, maxBoundary, checkpoint);
  const hold = await tablesOf(client)
    .selectFrom('retention_holds')
    .select(['name', 'offset', 'since'])
    .orderBy('offset')
    .orderBy('name')
    .executeTakeFirst();
  const blockingHold =
    requestedBoundary.heldBy !== null && requestedBoundary.heldBy.offset < maxBoundary
      ? requestedBoundary.heldBy
      : null;
  const appliedHold = hold !== undefined && hold.offset < requestedOffset ? hold : blockingHold;
  return {
    boundary: Math.max(appliedHold?.offset ?? requestedOffset, prunedToOffset ?? 0),
    checkpoint,
    prunedToOffset,
    heldBy: appliedHold,
  };
}

interface RequestedBoundary {
  readonly offset: number;
  /** The update that prevents a later boundary; null if there is none. */
  readonly heldBy: HoldPosition | null;
}

async function findRequestedBoundary(
  client: ClientBase,
  before: PruneBefore,
  checkpoint: number,
): Promise<RequestedBoundary> {
  if ('offset' in before) return { offset: before.offset, heldBy: null };
  const time = 'time' in before ? before.time : await timeBefore(client, before.retentionMs);
  if (time === null) return { offset: 0, heldBy: null };
  const first = await firstOffsetSince(client, time);
  if (first === null) return { offset: checkpoint, heldBy: null };
  return { offset: first - 1, heldBy: await findUpdateAhead(client, first, time) };
}

/**
 * Time relative to the newest record time, or to the current time if that is earlier: history must not be removed
 * because of a record time that is ahead of the clock. Null if nothing was recorded yet.
 */
async function timeBefore(client: ClientBase, retentionMs: number): Promise<Date | null> {
  const { rows } = await client.query<{ time: Date | null }>(
    `select least(now(), checkpoint_record_time) - $1 * interval '1 millisecond' as time
       from stream where checkpoint_record_time is not null`,
    [retentionMs],
  );
  return rows[0]?.time ?? null;
}

/**
 * The first update recorded at or after the time. Record times increase with offsets, except for differences between
 * synchronizers.
 */
async function firstOffsetSince(client: ClientBase, time: Date): Promise<number | null> {
  const { first } = await tablesOf(client)
    .selectFrom('updates')
    .select((e) => e.fn.min<number | null>('offset').as('first'))
    .where('record_time', '>=', time)
    .executeTakeFirstOrThrow();
  return first;
}

/** A time difference larger than that between the clocks of any two synchronizers, milliseconds. */
const estimateAfterMs = 3_600_000;
/** Number of updates that one window examines together. */
const windowSize = 100;
/** Number of times that the distance of a window is doubled. */
const maxWindowExponent = 40;

/**
 * Whether the update prevents pruning. This is the case if it was recorded long after the time and most updates after
 * it were recorded before the time. A single later update is not sufficient evidence, because its record time may be
 * too early, or other updates may be ahead too. Therefore the majority of a full window decides. Windows begin at
 * doubled distances, and finally at the newest updates.
 */
async function findUpdateAhead(client: ClientBase, offset: number, time: Date): Promise<HoldPosition | null> {
  const { rows } = await client.query<{ recorded: Date }>(
    `select record_time as recorded from updates
      where "offset" = $1 and record_time > $2::timestamptz + ${String(estimateAfterMs)} * interval '1 millisecond'`,
    [offset, time],
  );
  const [row] = rows;
  if (row === undefined) return null;
  for (const windowBegin of await windowBeginsAfter(client, offset)) {
    const since = await medianOlderTime(client, { begin: windowBegin, isFirst: windowBegin === offset + 1 }, time);
    if (since === null) continue;
    const name = `update ${String(offset)}, recorded at ${row.recorded.toISOString()},`;
    return { name, offset: offset - 1, since, isFutureUpdate: true };
  }
  return null;
}

/** First offsets of the windows, in ascending order. */
async function windowBeginsAfter(client: ClientBase, offset: number): Promise<readonly number[]> {
  const { rows } = await client.query<{ newest: number | null; checkpoint: number }>(
    `select (select min("offset") from (select "offset" from updates order by "offset" desc limit ${String(windowSize)}) u) as newest,
            (select checkpoint from stream) as checkpoint`,
  );
  const { newest = null, checkpoint = 0 } = rows[0] ?? {};
  const windowBegins = [offset + 1, Math.max(offset + 1, newest ?? 0)];
  for (let exponent = 0; exponent <= maxWindowExponent; exponent += 1)
    windowBegins.push(offset + windowSize * 2 ** exponent);
  return [...new Set(windowBegins)].filter((windowBegin) => windowBegin <= checkpoint).toSorted((a, b) => a - b);
}

/**
 * The median record time of the updates in a window that were recorded before the time. Null if they are not the
 * majority. Also null if the window is incomplete, unless it is the first window.
 */
async function medianOlderTime(
  client: ClientBase,
  { begin: beginOffset, isFirst }: { readonly begin: number; readonly isFirst: boolean },
  time: Date,
): Promise<Date | null> {
  const { rows } = await client.query<{ all: number; older: number; since: Date | null }>(
    `select count(*)::int as all, (count(*) filter (where record_time < $2))::int as older,
            percentile_disc(0.5) within group (order by record_time) filter (where record_time < $2) as since
       from (select record_time from updates where "offset" >= $1 and record_time is not null
              order by "offset" limit ${String(windowSize)}) w`,
    [beginOffset, time],
  );
  const { all: rowCount = 0, older = 0, since = null } = rows[0] ?? {};
  return 2 * older > rowCount && (isFirst || rowCount === windowSize) ? since : null;
}
