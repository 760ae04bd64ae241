/** Which history a page of changes can have: the checkpoint, where history begins, and the end of a bounded range. */
import { escapeIdentifier, type ClientBase } from 'pg';
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
