/** Up to which offset is pruned: from what an operator wrote, and from what the schema holds. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { tablesOf } from '../connection/query-builder.ts';

/** An offset (included), or everything recorded before a time. */
export type PruneBefore = { readonly offset: number } | { readonly time: Date };

export interface PruneTarget {
  /** Everything up to and including this offset goes, but what is active there. */
  readonly boundary: number;
  readonly checkpoint: number;
  /** Pruned up to here before; null when never. */
  readonly keptOffset: number | null;
}

/**
 * Never beyond the checkpoint, and never before what was pruned already: a prune that was cut is finished by the next.
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
  const wanted = 'offset' in before ? before.offset : await lastOffsetBefore(client, before.time, checkpoint);
  return { boundary: Math.max(Math.min(wanted, checkpoint), keptOffset ?? 0), checkpoint, keptOffset };
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
