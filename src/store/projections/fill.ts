/**
 * Fills projections, one range of offsets in each transaction. The transaction stores the rows of the range and adds the
 * range to the covered offsets, so each row is stored exactly once. It reads one snapshot, and it changes the row of the
 * projection, so of two concurrent writers one fails with a serialization error and changes nothing.
 */
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { selectOfRange, type ProjectedRange, type Projection } from './projections.ts';

export interface FilledRange extends ProjectedRange {
  readonly rows: number;
  /** Checkpoint of the stream when the range was read. */
  readonly checkpoint: number;
}

/** Runs `work` in a transaction that reads one snapshot, with plans for large results. */
function inSnapshot<T>(database: Database, work: (client: ClientBase) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(`set transaction isolation level repeatable read; ${reportPlanning}`);
    return work(client);
  });
}

/**
 * Removes rows at changed offsets, rows of a projection whose SELECT has changed, and projections that no longer exist.
 * Their ranges are filled again later.
 * @returns true if anything was removed
 */
export function invalidate(database: Database, projections: readonly Projection[]): Promise<boolean> {
  return inSnapshot(database, async (client) => {
    const isNew = await addProjections(client, projections);
    const { rows } = await client.query<{ changed: string | null }>(
      `with gone as (delete from projection_changes returning offsets)
       select range_agg(offsets)::text as changed from gone`,
    );
    const changed = rows[0]?.changed ?? null;
    if (changed === null) return isNew;
    for (const { name, table } of projections) {
      await client.query(
        `delete from ${table} p using unnest($1::int8multirange) r (offsets)
          where p."offset" >= coalesce(lower(r.offsets), -1) and p."offset" < coalesce(upper(r.offsets), 9223372036854775807)`,
        [changed],
      );
      await client.query(
        'update projections set covered = covered - $2::int8multirange, updated_at = now() where name = $1',
        [name, changed],
      );
    }
    return true;
  });
}

/** Adds missing projections, and empties those that were computed by another SELECT. */
async function addProjections(client: ClientBase, projections: readonly Projection[]): Promise<boolean> {
  let isChanged = false;
  for (const { name, table, hash } of projections) {
    const { rows } = await client.query<{ hash: string }>(
      'select select_hash as hash from projections where name = $1',
      [name],
    );
    if (rows[0]?.hash === hash) continue;
    await client.query(`delete from ${table}`);
    await client.query(
      `insert into projections (name, select_hash) values ($1, $2)
       on conflict (name) do update
          set select_hash = excluded.select_hash, covered = '{}', is_filled = false, problem = null, updated_at = now()`,
      [name, hash],
    );
    isChanged = true;
  }
  return isChanged;
}

/**
 * Stores the rows of the next range that is not covered.
 * @param most maximum number of updates and of contracts in the range
 * @returns undefined if every offset up to the checkpoint is covered
 */
export function fillNext(database: Database, projection: Projection, most: number): Promise<FilledRange | undefined> {
  const { name, table } = projection;
  return inSnapshot(database, async (client) => {
    const range = await nextRange(client, name, most);
    if (range === undefined) return undefined;
    const { after, upTo, checkpoint } = range;
    const { rowCount } = await client.query(`insert into ${table} ${selectOfRange(projection, range)}`);
    await client.query(
      `update projections
          set covered = covered + int8multirange(int8range($2, $3, '(]')), is_filled = is_filled or $4, problem = null,
              updated_at = now()
        where name = $1`,
      [name, after, upTo, upTo === checkpoint],
    );
    return { after, upTo, checkpoint, rows: rowCount ?? 0 };
  });
}

async function nextRange(
  client: ClientBase,
  name: string,
  most: number,
): Promise<(ProjectedRange & { readonly checkpoint: number }) | undefined> {
  const { rows } = await client.query<{ after: number | null; upTo: number; checkpoint: number }>(
    `with gap as (
       select lower(g.gap) - 1 as after, upper(g.gap) - 1 as up_to, s.checkpoint
         from projections p
        cross join stream s
        cross join unnest(int8multirange(int8range(null, s.checkpoint, '(]')) - p.covered) g (gap)
        where p.name = $1 and s.checkpoint is not null
        order by g.gap limit 1)
     select g.after, g.checkpoint,
            least(g.up_to,
                  (select c."offset" from contracts c where c."offset" > coalesce(g.after, -1)
                    order by c."offset" offset $2 limit 1),
                  (select u."offset" from updates u where u."offset" > coalesce(g.after, -1)
                    order by u."offset" offset $2 limit 1)) as "upTo"
       from gap g`,
    [name, most],
  );
  return rows[0];
}

/** Stores why the next range cannot be filled, for the operator. */
export async function noteProblem(database: Database, name: string, problem: string): Promise<void> {
  await database.transaction((client) =>
    client.query('update projections set problem = $2, updated_at = now() where name = $1', [name, problem]),
  );
}
