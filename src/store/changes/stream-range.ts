/** Which history a page of changes can have: the checkpoint, where history begins, and the end of a bounded range. */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { ChangesPage, ChangesRequest } from '../../model/push/changes.ts';
import type { ReadSchemas } from '../connection/read-schemas.ts';

/** Maximum number of updates searched for one page, even if few of them match. */
export const maxUpdatesPerRead = 1_000;
export const maxRows = 1_000;

export interface StreamPositions {
  readonly checkpoint: number | null;
  readonly availableAfter: number | null;
}

/** The checkpoint, and the start of the newest history that reaches it without a gap. */
export async function readStream(client: ClientBase, { storage }: ReadSchemas): Promise<StreamPositions> {
  const schema = escapeIdentifier(storage);
  const { rows } = await client.query<StreamPositions>(
    `select s.checkpoint,
            greatest(s.pruned_to_offset,
                     (select max(c.from_offset) from ${schema}.coverage c
                       where not exists (select from ${schema}.coverage b
                                          where b.to_offset >= c.from_offset and b.from_offset < c.from_offset)))
              as "availableAfter"
       from ${schema}.stream s`,
  );
  return rows[0] ?? { checkpoint: null, availableAfter: null };
}

/** The last offset of a range of this many updates: the checkpoint if fewer updates are left. */
export async function readRangeEnd(
  client: ClientBase,
  { storage }: ReadSchemas,
  after: number,
  checkpoint: number,
  updates: number,
): Promise<number> {
  const { rows } = await client.query<{ offset: number }>(
    `select "offset" from ${escapeIdentifier(storage)}.updates where "offset" > $1 and "offset" <= $2
      order by "offset" offset ${String(updates - 1)} limit 1`,
    [after, checkpoint],
  );
  return rows[0]?.offset ?? checkpoint;
}

type SearchedEnd = Pick<ChangesRequest, 'after' | 'until'> &
  Pick<ChangesPage, 'checkpoint'> & { readonly most: number };

interface PageEnd {
  /** Last offset of the page. */
  readonly upTo: number;
  /** Whether no offset is left before the end of the stream, or the position is beyond the checkpoint. */
  readonly isEmpty: boolean;
  /** Whether the page reaches `until`. */
  readonly isComplete: boolean;
}

/**
 * The end of a page: the last offset of a number of updates, the end of the stream, or the checkpoint. A time ends the
 * stream before the first update that is later, which is stored only after that time.
 */
export async function readPageEnd(
  client: ClientBase,
  schemas: ReadSchemas,
  { after, until, checkpoint, most }: SearchedEnd,
): Promise<PageEnd> {
  const lastOffset = until !== undefined && 'offset' in until ? until.offset : Infinity;
  const isStored = checkpoint !== null && lastOffset <= checkpoint;
  const from = after.node === null ? after.offset : after.offset - 1;
  if (checkpoint === null || after.offset > checkpoint || from >= lastOffset) {
    return { upTo: after.offset, isEmpty: true, isComplete: isStored };
  }
  const rangeEnd = await readRangeEnd(client, schemas, after.offset, checkpoint, most);
  const later =
    until !== undefined && 'time' in until
      ? await readFirstLater(client, schemas, until.time, { from, upTo: rangeEnd })
      : null;
  const upTo = Math.min(rangeEnd, lastOffset, later === null ? Infinity : later - 1);
  const isComplete = later !== null || (isStored && upTo === lastOffset);
  return { upTo, isEmpty: isComplete && upTo <= from, isComplete };
}

/** The first update of the range that is later than a time, by ledger effective time as in `known_offset`. */
async function readFirstLater(
  client: ClientBase,
  { storage }: ReadSchemas,
  time: string,
  { from, upTo }: { readonly from: number; readonly upTo: number },
): Promise<number | null> {
  const { rows } = await client.query<{ offset: number | null }>(
    `select min(u."offset") as offset from ${escapeIdentifier(storage)}.updates u
      where u."offset" > $1 and u."offset" <= $2 and coalesce(u.effective_at, u.record_time) > $3`,
    [from, upTo, time],
  );
  return rows[0]?.offset ?? null;
}
