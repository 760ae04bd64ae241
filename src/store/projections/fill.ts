/**
 * Fills projections, one range of offsets in each transaction. The transaction stores the rows of the range and adds the
 * range to the covered offsets, so each row is stored exactly once. It reads one snapshot, and it changes the row of the
 * projection, so of two concurrent writers one fails with a serialization error and changes nothing.
 */
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { selectOfRange, type ProjectedRange, type Projection } from './projections.ts';

export interface NextRange extends ProjectedRange {
  /** Checkpoint of the stream when the range was read. */
  readonly checkpoint: number;
  /** Whether no range was left: all offsets are covered that the filled projections it reads cover. */
  readonly isLast: boolean;
}

export interface FilledRange extends NextRange {
  readonly rows: number;
}

/**
 * Runs `work` in a transaction that reads one snapshot. Plans keep the settings of the writer's sessions, which avoid
 * scans: a table without statistics is not read completely for a few offsets.
 */
export function inSnapshot<T>(database: Database, work: (client: ClientBase) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query('set transaction isolation level repeatable read; set local plan_cache_mode = auto');
    return work(client);
  });
}

/**
 * Marks rows as outdated: rows at changed offsets, and all rows of a projection whose SELECT has changed. Readers no
 * longer use them.
 * @returns true if anything was marked
 */
export function invalidate(database: Database, projections: readonly Projection[]): Promise<boolean> {
  return inSnapshot(database, async (client) => {
    const isNew = await addProjections(client, projections);
    const { rows } = await client.query<{ changed: string | null; pruned: string | null }>(
      `with gone as (delete from projection_changes returning offsets, is_pruned)
       select (range_agg(offsets) filter (where not is_pruned))::text as changed,
              (range_agg(offsets) filter (where is_pruned))::text as pruned from gone`,
    );
    const { changed = null, pruned = null } = rows[0] ?? {};
    if (changed === null && pruned === null) return isNew;
    await lockProjections(client);
    if (changed !== null) await numberChange(client, changed);
    await client.query(
      `update projections
          set outdated = outdated + covered * outdated_offsets($1, $2, is_summed, looks_up),
              covered = covered - outdated_offsets($1, $2, is_summed, looks_up), updated_at = now()`,
      [changed, pruned],
    );
    return true;
  });
}

/**
 * Stores a change of history for exports of projections that users added. Offsets of earlier changes are removed from
 * these, so that the table stays small.
 */
async function numberChange(client: ClientBase, offsets: string): Promise<void> {
  const { rows } = await client.query<{ number: string }>(
    `insert into history_changes (change_number, offsets)
     select 1 + coalesce((select max(h.change_number) from history_changes h), 0), $1::int8multirange
      where exists (select from projections where view_name is not null)
     returning change_number::text as number`,
    [offsets],
  );
  const [added] = rows;
  if (added === undefined) return;
  await client.query(
    `update history_changes set offsets = offsets - $1::int8multirange
      where change_number < $2 and offsets && $1::int8multirange`,
    [offsets, added.number],
  );
  await client.query(`delete from history_changes where offsets = '{}'`);
}

/** Locks the rows of all projections, in the order in which a redaction locks them. */
async function lockProjections(client: ClientBase): Promise<void> {
  await client.query('select from projections order by name for update');
}

/** Adds missing projections, and marks all rows of those that were computed by another SELECT as outdated. */
async function addProjections(client: ClientBase, projections: readonly Projection[]): Promise<boolean> {
  const { rows } = await client.query<{ name: string; hash: string }>(
    'select name, select_hash as hash from projections',
  );
  const hashes = new Map(rows.map(({ name, hash }) => [name, hash]));
  const listed = projections.filter(({ name, user }) => user?.isRetired !== true || hashes.has(name));
  if (listed.every(({ name, hash }) => hashes.get(name) === hash)) return false;
  await outdateOthers(client, listed);
  for (const { name, hash, isSummed, user } of listed) {
    await client.query(
      `insert into projections (name, select_hash, is_summed, view_name, generation, looks_up)
       values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
      [name, hash, isSummed, user?.view ?? null, user?.generation ?? null, user?.looksUp ?? false],
    );
  }
  return true;
}

/**
 * Marks all rows of projections that were computed by another SELECT as outdated. Runs in the transaction that changes
 * the views, so that no answer has rows of both SELECTs.
 */
export async function outdateOthers(client: ClientBase, projections: readonly Projection[]): Promise<void> {
  await lockProjections(client);
  for (const { name, hash } of projections) {
    await client.query(
      `update projections
          set select_hash = $2, covered = '{}', outdated = '{(,)}', is_filled = false, problem = null, updated_at = now()
        where name = $1 and select_hash <> $2`,
      [name, hash],
    );
  }
}

/** Marks all rows of all projections as outdated, so that every view computes its rows from the history. */
export async function outdateAll(database: Database, which: 'all' | 'user' = 'all'): Promise<void> {
  await database.transaction((client) => outdateRows(client, which));
}

/** Does the same in the transaction of the caller. */
export async function outdateRows(client: ClientBase, which: 'all' | 'user'): Promise<void> {
  await lockProjections(client);
  await client.query(
    `update projections set covered = '{}', outdated = '{(,)}', is_filled = false, updated_at = now()
      where covered <> '{}' and ${isOneOf(which)}`,
  );
}

/** SQL: whether a row of projections is one of these. */
function isOneOf(which: 'all' | 'user'): string {
  return which === 'all' ? 'true' : 'view_name is not null';
}

/** Removes projections from the list. Their rows must be gone. */
export async function removeFromList(database: Database, which: 'all' | 'user'): Promise<void> {
  await database.transaction((client) => client.query(`delete from projections where ${isOneOf(which)}`));
}

export interface PendingWork {
  /** Projections with outdated rows. */
  readonly outdated: ReadonlySet<string>;
  /** Projections that do not store every offset up to the checkpoint or, for sums, up to the last complete block. */
  readonly behind: ReadonlySet<string>;
}

/** Names of the projections that may have something to remove or to store. */
export function pendingWork(database: Database): Promise<PendingWork> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ name: string; isOutdated: boolean; isBehind: boolean }>(
      `select p.name, p.outdated <> '{}' as "isOutdated",
              s.checkpoint is not null
                and (not p.is_filled or not p.covered @> int8range(null, case when p.is_summed then block_end(s.checkpoint + 1) - block_end(0) - 1
                                                                              else s.checkpoint end, '(]')) as "isBehind"
         from projections p left join stream s on true`,
    );
    const names = (chosen: typeof rows): ReadonlySet<string> => new Set(chosen.map(({ name }) => name));
    return {
      outdated: names(rows.filter(({ isOutdated }) => isOutdated)),
      behind: names(rows.filter(({ isBehind }) => isBehind)),
    };
  });
}

/**
 * Removes outdated rows of one projection, in the first hundred ranges at most.
 * @param most number of rows, apart from rows with the same offset as the last one
 * @returns true if the projection had outdated rows or ranges
 */
export function removeOutdated(database: Database, { name, table }: Projection, most: number): Promise<boolean> {
  return inSnapshot(database, async (client) => {
    const { rows } = await client.query<{ removed: string | null }>(
      `with first as (
         select r.offsets from projections p cross join unnest(p.outdated) r (offsets)
          where p.name = $1 order by r.offsets limit 100)
       select range_agg(int8range(
                lower(f.offsets),
                coalesce((select t."offset" + 1 from ${table} t where ${isWithin('t', 'f')}
                           order by t."offset" offset $2::bigint / (select count(*) from first) limit 1),
                         upper(f.offsets))))::text as removed
         from first f`,
      [name, most],
    );
    const removed = rows[0]?.removed ?? null;
    if (removed === null) return false;
    await client.query(
      'update projections set outdated = outdated - $2::int8multirange, updated_at = now() where name = $1',
      [name, removed],
    );
    await client.query(
      `delete from ${table} t using unnest($1::int8multirange) r (offsets) where ${isWithin('t', 'r')}`,
      [removed],
    );
    return true;
  });
}

/** SQL: whether the offset of a row is in a range. Compares with the bounds, so that an index on offsets is used. */
function isWithin(row: string, range: string): string {
  return `${row}."offset" >= coalesce(lower(${range}.offsets), -1)
          and ${row}."offset" < coalesce(upper(${range}.offsets), 9223372036854775807)`;
}

/**
 * Stores the rows of the next range that is not covered.
 * @param most maximum number of updates and of contracts in the range
 * @returns undefined if no range can be stored: every offset up to the checkpoint is covered, or the rest is not yet
 *   covered by the projections whose rows the SELECT reads
 */
export function fillNext(database: Database, projection: Projection, most: number): Promise<FilledRange | undefined> {
  const { table } = projection;
  return inSnapshot(database, async (client) => {
    const range = await nextRange(client, projection, most);
    if (range === undefined) {
      await markFilled(client, projection);
      return undefined;
    }
    // Without this setting, a view computes the rows of another projection until that projection has been filled once.
    await client.query(`set local ledger_indexer.projections = 'filling'`);
    const { rowCount } = await client.query(`insert into ${table} ${selectOfRange(projection, range)}`);
    await coverRange(client, projection, range);
    return { ...range, rows: rowCount ?? 0 };
  });
}

/**
 * Adds a range to the covered offsets.
 * @param rowVersion if set, nothing is changed unless the row of the projection has this version
 * @returns false if nothing was changed
 */
export async function coverRange(
  client: ClientBase,
  { name }: Projection,
  { after, upTo, isLast }: NextRange,
  rowVersion?: string,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update projections
        set covered = covered + int8multirange(int8range($2, $3, '(]')), is_filled = is_filled or $4, problem = null,
            updated_at = now()
      where name = $1 and coalesce(xmin::text = $5, true)`,
    [name, after, upTo, isLast, rowVersion ?? null],
  );
  return rowCount === 1;
}

/**
 * The next range that is not covered; undefined if there is none, see {@link fillNext}. The SELECT of a user reads views,
 * which compute all rows that the projections behind them have not stored. So it waits until these are filled.
 */
export async function nextRange(
  client: ClientBase,
  { name, sources, isSummed }: Projection,
  most: number,
): Promise<NextRange | undefined> {
  const { rows } = await client.query<Omit<NextRange, 'isLast'> & { gapEnd: number; isOnly: boolean }>(
    `with gap as (
       select lower(g.gap) - 1 as after, upper(g.gap) - 1 as up_to, s.checkpoint,
              count(*) over () = 1 and p.outdated = '{}' and ${areSourcesFilled} as is_only
         from projections p
        cross join stream s
        cross join unnest(${storable}) g (gap)
        where p.name = $1 and s.checkpoint is not null and (p.view_name is null or ${areSourcesFilled})
        order by g.gap limit 1),
     sized as (
       select g.*, least(g.up_to,
                         (select c."offset" from contracts c where c."offset" > coalesce(g.after, -1)
                           order by c."offset" offset $3 limit 1),
                         (select u."offset" from updates u where u."offset" > coalesce(g.after, -1)
                           order by u."offset" offset $3 limit 1)) as size_end
         from gap g)
     select n.after, n.checkpoint, n.up_to as "gapEnd", n.is_only as "isOnly",
            ${isSummed ? 'least(n.up_to, block_end(n.size_end))' : 'n.size_end'} as "upTo"
       from sized n`,
    [name, sources, most],
  );
  const [range] = rows;
  if (range === undefined) return undefined;
  const { after, upTo, checkpoint, gapEnd, isOnly } = range;
  return { after, upTo, checkpoint, isLast: isOnly && upTo === gapEnd };
}

/** SQL: whether the projections $2, whose rows the SELECT reads, are filled. */
const areSourcesFilled = 'not exists (select from projections o where o.name = any ($2::text[]) and not o.is_filled)';

/**
 * SQL: the ranges that projection `p` can store. They are not covered yet, and the projections $2 cover them. For sums,
 * they are complete blocks.
 */
const storable = `
  complete_blocks((int8multirange(int8range(null, s.checkpoint, '(]')) - p.covered - p.outdated)
                  * coalesce((select range_intersect_agg(o.covered) from projections o where o.name = any ($2::text[])),
                             '{(,)}'), p.is_summed)`;

/**
 * Marks a projection as filled if nothing can be stored, for example because the last block is not complete. Then the
 * range that reached the checkpoint was not known to be the last one.
 * @returns true if it was not marked before
 */
export async function markFilled(client: ClientBase, { name, sources }: Projection): Promise<boolean> {
  const { rowCount } = await client.query(
    `update projections p set is_filled = true, updated_at = now()
       from stream s
      where p.name = $1 and not p.is_filled and s.checkpoint is not null and p.outdated = '{}'
        and ${areSourcesFilled} and ${storable} = '{}'`,
    [name, sources],
  );
  return rowCount === 1;
}

/** Whether projections that users added are listed. */
export async function hasUsers(database: Database): Promise<boolean> {
  return database.withClient(async (client) => {
    const { rowCount } = await client.query('select from projections where view_name is not null limit 1');
    return rowCount === 1;
  });
}

/** Whether a projection has stored rows that are not outdated. */
export async function hasStored(database: Database): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rowCount } = await client.query("select from projections where covered <> '{}' limit 1");
    return rowCount === 1;
  });
}

/** A new transaction id, which is higher than all others. */
export async function nextTransaction(database: Database): Promise<string> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
    return rows[0]?.xid ?? '';
  });
}

/** Whether every transaction of this database with a lower id has ended, also prepared ones. */
export async function allEndedBefore(database: Database, xid: string): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rowCount } = await client.query(
      `select from pg_locks l
         left join pg_stat_activity a on a.pid = l.pid
         left join pg_prepared_xacts p on p.transaction = l.transactionid
        where l.locktype = 'transactionid' and l.granted and coalesce(a.datname, p.database) = current_database()
          and age(l.transactionid) > age($1::xid8::xid)
        limit 1`,
      [xid],
    );
    return rowCount === 0;
  });
}

/** Stores why the next range cannot be filled, for the operator. */
export async function noteProblem(database: Database, name: string, problem: string): Promise<void> {
  await database.transaction((client) =>
    client.query('update projections set problem = $2, updated_at = now() where name = $1', [name, problem]),
  );
}
