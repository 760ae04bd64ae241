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

/** A row of `retention_holds` that keeps history. */
export interface Holding {
  readonly name: string;
  /** What comes after it is kept. */
  readonly offset: number;
  readonly since: Date;
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
  const wanted = Math.min(await wantedOffset(client, before, checkpoint), before.exportedTo ?? checkpoint, checkpoint);
  const hold = await tablesOf(client)
    .selectFrom('retention_holds')
    .select(['name', 'offset', 'since'])
    .orderBy('offset')
    .orderBy('name')
    .executeTakeFirst();
  const heldBy = hold !== undefined && hold.offset < wanted ? hold : null;
  return { boundary: Math.max(heldBy?.offset ?? wanted, keptOffset ?? 0), checkpoint, keptOffset, heldBy };
}

async function wantedOffset(client: ClientBase, before: PruneBefore, checkpoint: number): Promise<number> {
  if ('offset' in before) return before.offset;
  if ('time' in before) return lastOffsetBefore(client, before.time, checkpoint);
  const time = await timeBefore(client, before.keepMs);
  return time === null ? 0 : lastOffsetBefore(client, time, checkpoint);
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

/** The offset before the first update recorded at or after the time; record times rise with the offsets but for synchronizers apart. */
async function lastOffsetBefore(client: ClientBase, time: Date, checkpoint: number): Promise<number> {
  const { first } = await tablesOf(client)
    .selectFrom('updates')
    .select((e) => e.fn.min<number | null>('offset').as('first'))
    .where('record_time', '>=', time)
    .executeTakeFirstOrThrow();
  return first === null ? checkpoint : first - 1;
}
