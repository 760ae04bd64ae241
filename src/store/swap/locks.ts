/**
 * Takes the locks for the swap. The swap replaces views, so no session may be reading them. Views that no session is
 * reading are locked immediately, so that later sessions wait without holding locks. Then the swap waits for the
 * sessions that read the other views. If a session holds a lock on one view and waits for another view, the swap times
 * out, because its time limit is shorter than that of the deadlock check. Tables are locked against writes but can
 * still be read, because both storages have the same contents at that moment.
 */
import type { ClientBase } from 'pg';
import { escapeLiteral } from 'pg';
import type { ReadSchemas } from '../connection/read-schemas.ts';

/**
 * Share of deadlock_timeout that the swap may wait. After deadlock_timeout the server would end one of the sessions,
 * which could be a reader that waits for the swap.
 */
const shareOfDeadlockTimeout = 0.8;
const maxLockWaitMs = 2_000;

/**
 * Locks every view for readers, and every table of the storage against writes, in less than deadlock_timeout. A view is
 * locked by transferring it to its own owner, which locks only the view; LOCK would also lock the tables below it.
 * @param tables `access exclusive` also prevents reads; it is used if the two storages are not at the same offset
 * @throws IndexerError STORE_STATEMENT_TIMEOUT or STORE_LOCKED if it does not get the locks in time
 */
export async function lockStorage(
  client: ClientBase,
  { storage, ...otherSchemas }: ReadSchemas,
  tables: 'exclusive' | 'access exclusive',
): Promise<void> {
  const { rows } = await client.query<{ patience: number }>(
    `select extract(epoch from current_setting('deadlock_timeout')::interval)::float8 * 1000 as patience`,
  );
  const timeLimitMs = Math.ceil(Math.min(maxLockWaitMs, (rows[0]?.patience ?? maxLockWaitMs) * shareOfDeadlockTimeout));
  await client.query(`set local lock_timeout = ${String(timeLimitMs)}`);
  await client.query(tablesLocked(storage, 'exclusive'));
  const names = [storage, ...Object.values(otherSchemas)].map((name) => escapeLiteral(name)).join(', ');
  await client.query(`set local statement_timeout = ${String(timeLimitMs)}`);
  await client.query(`do $swap$
  declare
    statement text;
    busy text[] := '{}';
  begin
    set local lock_timeout = '2ms';
    for statement in ${viewsInOrder(names)} loop
      begin
        execute statement;
      exception when lock_not_available then
        busy := busy || statement;
      end;
    end loop;
    set local lock_timeout = 0;
    foreach statement in array busy loop execute statement; end loop;
  end $swap$`);
  if (tables === 'access exclusive') await client.query(tablesLocked(storage, tables));
}

/** The statement that locks every table of a schema. */
function tablesLocked(storage: string, mode: string): string {
  return `do $swap$ begin
    execute (select 'lock table ' || string_agg(format('%I.%I', n.nspname, c.relname), ', ' order by c.relname)
                    || ' in ${mode} mode'
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where n.nspname = ${escapeLiteral(storage)} and c.relkind in ('r', 'p') and not c.relispartition);
  end $swap$`;
}

/**
 * SQL: for each view a statement that locks it, views before the views that they read.
 * @param schemas list of literals
 */
function viewsInOrder(schemas: string): string {
  return `with recursive views as (
       select c.oid, c.relname, n.nspname, c.relowner from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'v' and n.nspname in (${schemas}) and pg_has_role(c.relowner, 'usage')),
     uses as (
       select distinct r.ev_class as above, d.refobjid as below
         from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
         join views v on v.oid = r.ev_class join views w on w.oid = d.refobjid
        where d.refclassid = 'pg_class'::regclass and d.refobjid <> r.ev_class),
     deep as (
       select v.oid, 0 as depth from views v where not exists (select from uses u where u.below = v.oid)
       union
       select u.below, d.depth + 1 from deep d join uses u on u.above = d.oid)
     select format('alter view %I.%I owner to %I', v.nspname, v.relname, pg_get_userbyid(v.relowner))
       from views v join (select oid, max(depth) as depth from deep group by 1) d on d.oid = v.oid
      order by d.depth, v.nspname, v.relname`;
}

/**
 * Descriptions of sessions that block this waiting session. They include the name of the program if Postgres reveals
 * it.
 */
export async function blockersOf(client: ClientBase, pid: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `select ${holderName} as holder from unnest(pg_blocking_pids($1)) b (pid) join pg_stat_activity a on a.pid = b.pid`,
    [pid],
  );
  return rows.map(({ holder }) => holder);
}

const holderName = `format('%s (process %s, role %s)', coalesce(nullif(a.application_name, ''), 'a session'), a.pid, a.usename)`;

/**
 * Sessions that may still read a snapshot older than the last commit of the next storage. They would read the storage
 * in its earlier state, with a checkpoint below one that other sessions have already read. A transaction that began
 * after the commit has no such snapshot. Postgres does not always return the start of transactions of other roles. In
 * that case, only the snapshot is checked.
 * @param xid transaction id of the last commit
 * @param at time of the last commit by the clock of the server
 */
export async function findOlderSnapshots(
  client: ClientBase,
  { xid, at: commitTime }: { readonly xid: string; readonly at: string },
): Promise<readonly string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `select ${holderName} as holder
       from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and a.backend_xmin is not null and age(a.backend_xmin) >= age($1::xid)
        and (a.xact_start is null or a.xact_start <= $2::timestamptz)
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        -- Vacuum returns no rows to clients; Postgres does not show its user to every role.
        and a.pid not in (select pid from pg_stat_progress_vacuum union all select pid from pg_stat_progress_analyze)
      order by 1 limit 10`,
    [xid, commitTime],
  );
  return rows.map(({ holder }) => holder);
}
