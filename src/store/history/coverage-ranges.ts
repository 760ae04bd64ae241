/** The ranges of table `coverage`. One range is open and ends at the checkpoint; all others are closed. */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { constantOne, sql, tablesOf } from '../connection/query-builder.ts';
import type { StreamIdentity } from '../../model/stream.ts';

/** A range after the first one. */
export interface NewRange {
  /** Exclusive start of the range. */
  readonly from: number;
  readonly origin: 'reseed' | 'filter' | 'reset' | 'filter-extend';
  readonly filterHash: string;
  readonly shape: StreamIdentity['shape'];
  /** False if contracts that were active at its start and match only the extended filter still have to be staged. */
  readonly complete?: false;
  /** Why the previous range ended. */
  readonly reason: string;
}

/**
 * A stream that is seeded again at its start has no previous range, because its history begins with that list of active
 * contracts.
 */
const seededAgainSql = sql<boolean>`excluded.origin = 'reseed' and coverage.origin in ('seed', 'genesis', 'oldest', 'offset')`;
const conflictValues = {
  origin: sql<NewRange['origin']>`case when ${seededAgainSql} then 'seed' else excluded.origin end`,
  reason: sql<string>`case when ${seededAgainSql} then null else excluded.reason end`,
};

/** Closes the open range at `closeAt` (the checkpoint it has reached) and opens a new one. */
export async function openRange(client: ClientBase, closeAt: number, range: NewRange): Promise<void> {
  await tablesOf(client)
    .updateTable('coverage')
    .set('to_offset', (e) => e.fn<number>('greatest', [e.val(closeAt), 'from_offset']))
    .where('to_offset', 'is', null)
    .execute();
  const { from, origin, filterHash, shape, complete = true, reason } = range;
  // A conflict means the same start under the same filter: the change was cancelled and requested again before anything
  // was stored.
  await tablesOf(client)
    .insertInto('coverage')
    .values({ from_offset: from, filter_hash: filterHash, origin, transaction_shape: shape, complete, reason })
    .onConflict((c) =>
      c.columns(['from_offset', 'filter_hash']).doUpdateSet({
        origin: conflictValues.origin,
        reason: conflictValues.reason,
        transaction_shape: shape,
        complete,
        to_offset: null,
        recorded_at: sql`now()`,
      }),
    )
    .execute();
}

/**
 * Goes back to an offset. Ranges that begin after it are deleted; the range that contains it is opened again.
 * @returns true if a new range was opened at the offset because another filter was in force then
 */
export async function splitRanges(
  client: ClientBase,
  at: number,
  current: Pick<NewRange, 'filterHash' | 'shape'>,
): Promise<boolean> {
  const tables = tablesOf(client);
  await tables.deleteFrom('coverage').where('from_offset', '>', at).execute();
  const openRanges = await tables.selectFrom('coverage').select('from_offset').where('to_offset', 'is', null).execute();
  if (openRanges.length > 0) return false;
  const last = await tables
    .selectFrom('coverage')
    .select(['from_offset', 'filter_hash'])
    .orderBy('to_offset', 'desc')
    .orderBy('from_offset', 'desc')
    .limit(constantOne)
    .executeTakeFirst();
  if (last?.filter_hash === current.filterHash) {
    await tables
      .updateTable('coverage')
      .set({ to_offset: null })
      .where((e) => e.and(last))
      .execute();
    return false;
  }
  await tables.updateTable('coverage').set({ to_offset: at }).where('to_offset', '>', at).execute();
  const reason = 'the stream went back to this offset, and another filter is in force since';
  await openRange(client, at, { ...current, from: at, origin: 'reset', reason });
  return true;
}

/** Start of the stream and how it was chosen. */
export interface FirstRange {
  /** Exclusive start of the stream. */
  readonly from: number;
  readonly origin: string;
}

/** The start of the stream; undefined if nothing was ever indexed here, or there are no tables yet. */
export async function readFirstRange(database: Database): Promise<FirstRange | undefined> {
  return await database.withClient(async (client) => {
    const table = `${escapeIdentifier(database.schema)}.coverage`;
    const { rows: tableRows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
      table,
    ]);
    if (tableRows[0]?.there !== true) return undefined;
    return await tablesOf(client)
      .selectFrom('coverage')
      .select(['from_offset as from', 'origin'])
      .orderBy('from_offset')
      .limit(constantOne)
      .executeTakeFirst();
  });
}
