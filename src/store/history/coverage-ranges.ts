/** The ranges of table `coverage`: one is open and ends at the checkpoint, all others are closed. */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';

/** How a range after the first one began. */
export interface NewRange {
  /** Exclusive beginning of the range. */
  readonly from: number;
  readonly origin: 'reseed' | 'filter' | 'reset';
  readonly filterHash: string;
  readonly shape: string;
  /** Why the range before it ended. */
  readonly reason: string;
}

/** Closes the open range at `closeAt` (the checkpoint it has reached) and opens a new one. */
export async function openRange(client: ClientBase, closeAt: number, range: NewRange): Promise<void> {
  await client.query('update coverage set to_offset = greatest($1, from_offset) where to_offset is null', [closeAt]);
  const { from, origin, filterHash, shape, reason } = range;
  // The same beginning under the same filter: it was given up and taken again before anything was stored.
  await client.query(
    `insert into coverage as c (from_offset, origin, filter_hash, transaction_shape, reason) values ($1, $2, $3, $4, $5)
     on conflict (from_offset, filter_hash) do update
       set to_offset = null, origin = excluded.origin, transaction_shape = excluded.transaction_shape,
           reason = excluded.reason, recorded_at = now()`,
    [from, origin, filterHash, shape, reason],
  );
}

/**
 * Goes back to an offset: ranges that begin after it are gone, the one it lies in is open again.
 * @returns whether a range of another filter begins there, because the filter in force is not that of the time
 */
export async function cutRanges(
  client: ClientBase,
  at: number,
  current: Pick<NewRange, 'filterHash' | 'shape'>,
): Promise<boolean> {
  await client.query('delete from coverage where from_offset > $1', [at]);
  const open = await client.query('select from coverage where to_offset is null');
  if ((open.rowCount ?? 0) > 0) return false;
  const { rowCount } = await client.query(
    `update coverage set to_offset = null
      where filter_hash = $1 and (from_offset, filter_hash) =
            (select from_offset, filter_hash from coverage order by to_offset desc, from_offset desc limit 1)`,
    [current.filterHash],
  );
  if (rowCount !== 0) return false;
  await client.query('update coverage set to_offset = $1 where to_offset > $1', [at]);
  const reason = 'the stream went back to this offset, and another filter is in force since';
  await openRange(client, at, { ...current, from: at, origin: 'reset', reason });
  return true;
}

/** Where the stream begins and how it came to begin there. */
export interface FirstRange {
  /** Exclusive. */
  readonly from: number;
  readonly origin: string;
}

/** The beginning of the stream; undefined when nothing was ever indexed here, or there are no tables yet. */
export async function readFirstRange(database: Database): Promise<FirstRange | undefined> {
  return await database.withClient(async (client) => {
    const table = `${escapeIdentifier(database.schema)}.coverage`;
    const { rows: found } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
      table,
    ]);
    if (found[0]?.there !== true) return undefined;
    const { rows } = await client.query<FirstRange>(
      'select from_offset as "from", origin from coverage order by from_offset limit 1',
    );
    return rows[0];
  });
}
