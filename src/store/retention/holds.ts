/** Table `retention_holds`: history that a consumer still needs and that must not be pruned. */
import { escapeIdentifier, type PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import type { HoldPosition } from './prune-target.ts';
import { shortTransaction } from '../connection/short-transaction.ts';

export interface RetentionHold extends HoldPosition {
  readonly reason: string | null;
  /** When the offset of the hold was last set. */
  readonly movedAt: Date;
}

/** All holds, ordered by offset: the hold that retains the most comes first. */
export function listHolds(database: Database): Promise<readonly RetentionHold[]> {
  return database.withClient(async (client) => {
    const holdQuery = tablesOf(client).selectFrom('retention_holds');
    return await holdQuery
      .select(['name', 'offset', 'reason', 'since', 'moved_at as movedAt'])
      .orderBy('offset')
      .orderBy('name')
      .execute();
  });
}

export interface PlacedHold {
  readonly name: string;
  /** History after this offset is retained; if undefined, everything stored here is retained. */
  readonly offset: number | undefined;
  /** Reason of the hold; null keeps the existing reason. */
  readonly reason: string | null;
  /** Set if an offset before the stored history means all of the stored history. */
  readonly fromFirst?: true;
}

/**
 * Places a hold, or moves the hold of this name. Resolves to its offset.
 * @throws IndexerError HOLD_REFUSED if the history after the offset is not stored here
 */
export function placeHold(database: Database, hold: PlacedHold): Promise<number> {
  return withRetentionLock(database, (client) => holdWithin(client, hold));
}

/** Like {@link placeHold}, but called within {@link withRetentionLock}. */
export async function holdWithin(client: PoolClient, { name, offset, reason, fromFirst }: PlacedHold): Promise<number> {
  const { kept: prunedOffset, checkpoint } = await bounds(client);
  const holdOffset = fromFirst === true ? Math.max(offset ?? 0, prunedOffset) : (offset ?? prunedOffset);
  if (holdOffset < prunedOffset || holdOffset > checkpoint)
    throw outsideRangeError(holdOffset, prunedOffset, checkpoint);
  await client.query(
    `insert into retention_holds (name, "offset", reason) values ($1, $2, $3)
     on conflict (name) do update set "offset" = excluded."offset", moved_at = now(),
       reason = coalesce(excluded.reason, retention_holds.reason)`,
    [name, holdOffset, reason],
  );
  return holdOffset;
}

/** Resolves to true if a hold of this name existed. */
export function releaseHold(database: Database, name: string): Promise<boolean> {
  return withRetentionLock(database, async (client) => {
    const { numDeletedRows } = await tablesOf(client)
      .deleteFrom('retention_holds')
      .where('name', '=', name)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  });
}

/** Runs `work` while no other session can determine a boundary for pruning. */
export function withRetentionLock<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  return shortTransaction(database, async (client) => {
    await client.query(`select ${pqs}.__retention_lock()`);
    return work(client);
  });
}

async function bounds(client: PoolClient): Promise<{ readonly kept: number; readonly checkpoint: number }> {
  const stream = await tablesOf(client)
    .selectFrom('stream')
    .select(['checkpoint', 'pruned_to_offset', 'seed_offset'])
    .executeTakeFirst();
  return {
    kept: Math.max(stream?.pruned_to_offset ?? 0, stream?.seed_offset ?? 0),
    checkpoint: stream?.checkpoint ?? 0,
  };
}

function outsideRangeError(offset: number, prunedOffset: number, checkpoint: number): IndexerError {
  const range = `${String(prunedOffset)} to ${String(checkpoint)}`;
  return new IndexerError(`offset ${String(offset)} cannot be held: history is here from ${range}`, {
    code: 'HOLD_REFUSED',
    remedy: `choose an offset from ${range}`,
  });
}
