/** Stored updates by which the ledger's history is compared with ours. */
import type { Database } from '../database.ts';
import type { UpdateMark } from '../stream-row.ts';

/** The newest stored update with an id after `above` and up to `upTo`; undefined when there is none. */
export async function newestMark(database: Database, above: number, upTo: number): Promise<UpdateMark | undefined> {
  const { rows } = await database.withClient((client) =>
    client.query<UpdateMark>(
      `select "offset", update_id as "updateId" from updates
        where "offset" > $1 and "offset" <= $2 and update_id is not null order by "offset" desc limit 1`,
      [above, upTo],
    ),
  );
  return rows[0];
}

/** Where the range begins that the filter in force is complete in (exclusive); what is before may not be visible to it. */
export async function rangeBegin(database: Database): Promise<number> {
  const { rows } = await database.withClient((client) =>
    client.query<{ begin: number | null }>('select max(from_offset) as begin from coverage where to_offset is null'),
  );
  return rows[0]?.begin ?? 0;
}
