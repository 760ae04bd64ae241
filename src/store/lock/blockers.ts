/** Lists sessions that block writing sessions, so that an operator can end them. */
import type { ClientBase } from 'pg';
import { writerSessionName } from './writer-lock.ts';

export interface Blocker {
  readonly pid: number;
  readonly role: string;
  readonly application: string;
  /** How long a writing session has waited for this session, directly or behind others, seconds. */
  readonly waitedSeconds: number;
  /** How long the transaction of this session has been open, seconds; null if this role may not read it. */
  readonly openSeconds: number | null;
}

/** Waits shorter than this are normal, because they occur in every commit. */
const minBlockSeconds = 1;

/**
 * Finds the sessions at the head of each queue. When they end, the sessions behind them continue. Every login can read
 * locks and roles in Postgres. The start of a transaction is visible only to its own role and to members of
 * pg_read_all_stats.
 */
const blockers = `
with recursive queue as (
  select w.pid as writer, b.pid, 1 as depth,
         max(extract(epoch from clock_timestamp() - l.waitstart))::float8 as waited
    from pg_stat_activity w join pg_locks l on l.pid = w.pid and not l.granted
   cross join unnest(pg_blocking_pids(w.pid)) b (pid)
   where w.application_name = $1 and w.datname = current_database()
   group by w.pid, b.pid
  union
  select q.writer, b.pid, q.depth + 1, q.waited from queue q cross join unnest(pg_blocking_pids(q.pid)) b (pid) where q.depth < 10)
select a.pid, coalesce(a.usename::text, 'unknown') as role, coalesce(nullif(a.application_name, ''), 'without a name') as application,
       max(q.waited) as "waitedSeconds", extract(epoch from clock_timestamp() - max(a.xact_start))::float8 as "openSeconds"
  from queue q join pg_stat_activity a on a.pid = q.pid
 where q.waited >= $2 and a.application_name <> $1 and cardinality(pg_blocking_pids(q.pid)) = 0
 group by 1, 2, 3 order by 4 desc, 1`;

/** @param storage schema of the stream */
export async function writerBlockers(client: ClientBase, storage: string): Promise<readonly Blocker[]> {
  const { rows } = await client.query<Blocker>(blockers, [writerSessionName(storage), minBlockSeconds]);
  return rows;
}
