/** Up to which offset is pruned: from what an operator wrote, and from what the schema holds. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { tablesOf } from '../connection/query-builder.ts';

/**
 * An offset (included), everything recorded before a time, or so many milliseconds before what was recorded last; nothing above
 * `exportedTo`, where it is given.
 */
export type PruneBefore = ({ readonly offset: number } | { readonly time: Date } | { readonly keepMs: number }) & {
  readonly exportedTo?: number;
};

/** What keeps history: a row of `retention_holds`, or an update with a record time far ahead of those around it. */
export interface Holding {
  readonly name: string;
  /** What comes after it is kept. */
  readonly offset: number;
  /** Of an update: the record time of most of those behind it. */
  readonly since: Date;
  /** Only a boundary given as an offset goes past it. */
  readonly isUpdate?: true;
}

export interface PruneTarget {
  /** Everything up to and including this offset goes, but what is active there. */
  readonly boundary: number;
  readonly checkpoint: number;
  /** Pruned up to here before; null when never. */
  readonly keptOffset: number | null;
  /** Who keeps it from going as far as was asked for; null when nobody does. */
  readonly heldBy: Holding | null;
}

/**
 * Never beyond the checkpoint or what somebody holds, and never before what was pruned already: a prune that was cut is
 * finished by the next.
 * @throws IndexerError NOTHING_TO_PRUNE when nothing is indexed yet
 */
export async function pruneTarget(client: ClientBase, before: PruneBefore): Promise<PruneTarget> {
  const stream = await tablesOf(client)
    .selectFrom('stream')
    .select(['checkpoint', 'seeded_at', 'kept_offset'])
    .executeTakeFirst();
  if (stream === undefined || stream.checkpoint === null || stream.seeded_at === null) {
    throw new IndexerError('no complete seed is here: there is nothing to prune', {
      code: 'NOTHING_TO_PRUNE',
      remedy: 'let `ledger-indexer run` finish the seed first, or name the right schema with POSTGRES_SCHEMA',
    });
  }
  const { checkpoint, kept_offset: keptOffset } = stream;
  const wish = await wantedOffset(client, before, checkpoint);
  const most = before.exportedTo ?? checkpoint;
  const wanted = Math.min(wish.offset, most, checkpoint);
  const hold = await tablesOf(client)
    .selectFrom('retention_holds')
    .select(['name', 'offset', 'since'])
    .orderBy('offset')
    .orderBy('name')
    .executeTakeFirst();
  const ahead = wish.heldBy !== null && wish.heldBy.offset < most ? wish.heldBy : null;
  const heldBy = hold !== undefined && hold.offset < wanted ? hold : ahead;
  return { boundary: Math.max(heldBy?.offset ?? wanted, keptOffset ?? 0), checkpoint, keptOffset, heldBy };
}

interface Wish {
  readonly offset: number;
  /** An update without which it would be further. */
  readonly heldBy: Holding | null;
}

async function wantedOffset(client: ClientBase, before: PruneBefore, checkpoint: number): Promise<Wish> {
  if ('offset' in before) return { offset: before.offset, heldBy: null };
  const time = 'time' in before ? before.time : await timeBefore(client, before.keepMs);
  if (time === null) return { offset: 0, heldBy: null };
  const first = await firstOffsetSince(client, time);
  if (first === null) return { offset: checkpoint, heldBy: null };
  return { offset: first - 1, heldBy: await updateAhead(client, first, time) };
}

/** By what was recorded last, where a clock is ahead of it: a wrong clock must not cost history. Null: nothing was recorded yet. */
async function timeBefore(client: ClientBase, keepMs: number): Promise<Date | null> {
  const { rows } = await client.query<{ time: Date | null }>(
    `select least(now(), checkpoint_record_time) - $1 * interval '1 millisecond' as time
       from stream where checkpoint_record_time is not null`,
    [keepMs],
  );
  return rows[0]?.time ?? null;
}

/** The first update recorded at or after the time; record times rise with the offsets but for synchronizers apart. */
async function firstOffsetSince(client: ClientBase, time: Date): Promise<number | null> {
  const { first } = await tablesOf(client)
    .selectFrom('updates')
    .select((e) => e.fn.min<number | null>('offset').as('first'))
    .where('record_time', '>=', time)
    .executeTakeFirstOrThrow();
  return first;
}

/** More than the clocks of two synchronizers are apart. */
const farAheadMs = 3_600_000;
/** Updates in a window, of which most have to be older than the time. */
const windowSize = 100;

/**
 * The update as a holding when it was recorded far after the time, and most of those behind it before the time. Single ones
 * behind it may be early themselves. Others ahead may follow it, so windows are looked at in distances that double, and at
 * the end.
 */
async function updateAhead(client: ClientBase, offset: number, time: Date): Promise<Holding | null> {
  const { rows } = await client.query<{ recorded: Date; since: Date }>(
    `select u.record_time as recorded, behind.since
       from updates u,
            lateral (
              select w.since
                from (select $1 + 1 as begin union all select $1 + (${String(windowSize)}::bigint << doubled) from generate_series(0, 40) doubled
                      union all (select min("offset") from (select "offset" from updates order by "offset" desc limit ${String(windowSize)}) newest)) at,
                     lateral (select 2 * count(*) filter (where b.record_time < $2) > count(*) as is_older,
                                     percentile_disc(0.5) within group (order by b.record_time) filter (where b.record_time < $2) as since
                                from (select record_time from updates
                                       where "offset" > $1 and "offset" >= at.begin and record_time is not null
                                       order by "offset" limit ${String(windowSize)}) b) w
               where at.begin <= (select checkpoint from stream) and w.is_older
               order by at.begin limit 1) behind
      where u."offset" = $1 and u.record_time > $2::timestamptz + ${String(farAheadMs)} * interval '1 millisecond'`,
    [offset, time],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const name = `update ${String(offset)}, recorded at ${row.recorded.toISOString()},`;
  return { name, offset: offset - 1, since: row.since, isUpdate: true };
}
