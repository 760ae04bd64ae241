/** Observers of an upgrade: readers that measure their statements, the writer's commits, and locks. */
import { Client } from 'pg';
import type { StoredStream } from '../../e2e/runs/stored.ts';
import { pause } from '../../support/wait-for.ts';

/** Statements of readers that return at once on a database of any size. */
const statements: readonly string[] = [
  'select * from explore.updates order by "offset" desc limit 20',
  'select * from explore.exercises order by "offset" desc limit 20',
  'select checkpoint, epoch from ledger.stream',
  'select * from explore.participants',
  'select c.* from explore.contracts c where c.created_at_offset > (select checkpoint - 20 from ledger.stream)',
];

export interface ReaderFigures {
  readonly statements: number;
  readonly errors: number;
  readonly longestMs: number;
  readonly longest: string;
}

export interface Readers {
  /** Figures since the previous call, including statements that still run. */
  lap(): ReaderFigures;
  stop(): Promise<void>;
}

/** Starts one session for each statement, which repeats it. */
export async function startReaders(url: string): Promise<Readers> {
  let figures = { statements: 0, errors: 0, longestMs: 0, longest: '' };
  const stop = new AbortController();
  const running = new Map<string, number>();
  const note = (sql: string, startMs: number): void => {
    const ms = Math.round(performance.now() - startMs);
    if (ms > figures.longestMs) figures = { ...figures, longestMs: ms, longest: sql };
  };
  const read = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: url, application_name: 'reader' });
    await client.connect();
    while (!stop.signal.aborted) {
      const startMs = performance.now();
      running.set(sql, startMs);
      try {
        await client.query(sql);
      } catch {
        figures = { ...figures, errors: figures.errors + 1 };
      }
      note(sql, startMs);
      figures = { ...figures, statements: figures.statements + 1 };
      await pause(5);
    }
    await client.end();
  };
  const reading = Promise.all(statements.map(read));
  return {
    lap: () => {
      for (const [sql, startMs] of running) note(sql, startMs);
      const lap = figures;
      figures = { statements: 0, errors: 0, longestMs: 0, longest: '' };
      return lap;
    },
    stop: async () => {
      stop.abort();
      await reading;
    },
  };
}

/** Runs `work`, and measures the longest time without a commit of the writer. */
export async function watchWriter(
  url: string,
  stored: StoredStream,
  work: () => Promise<void>,
): Promise<{ readonly longestMs: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let longestMs = 0;
  let last = (await stored.checkpoint('ledger')) ?? 0;
  let lastMs = performance.now();
  const stop = new AbortController();
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const { rows } = await client.query<{ checkpoint: string }>('select checkpoint from ledger.stream');
      const checkpoint = Number(rows[0]?.checkpoint);
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      if (checkpoint > last) [last, lastMs] = [checkpoint, nowMs];
      await pause(10);
    }
  })();
  await work();
  stop.abort();
  await watching;
  await client.end();
  return { longestMs: Math.round(longestMs) };
}

interface HeldLock {
  readonly relation: string;
  readonly mode: string;
  readonly ms: number;
}

/**
 * Samples the locks on tables and views that block readers or the writer, which only the migrator takes. A lock counts
 * from the first sample to the last one in which it was held.
 */
export async function watchLocks(url: string): Promise<{ stop(): Promise<Record<string, unknown>> }> {
  const client = new Client({ connectionString: url, application_name: 'locks' });
  await client.connect();
  const held = new Map<string, { first: number; last: number }>();
  const stop = new AbortController();
  let samples = 0;
  const sql = `select concat(l.pid, ' ', n.nspname, '.', c.relname, ' ', l.mode) as lock
    from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
   where l.granted and l.locktype = 'relation' and l.database = (select oid from pg_database where datname = current_database())
     and l.mode in ('AccessExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')
     and n.nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync') and c.relkind in ('r', 'v')`;
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      const { rows } = await client.query<{ lock: string }>(sql);
      const nowMs = performance.now();
      samples += 1;
      for (const { lock } of rows) {
        const seen = held.get(lock);
        held.set(lock, { first: seen?.first ?? nowMs, last: nowMs });
      }
      await pause(5);
    }
  })();
  return {
    stop: async () => {
      stop.abort();
      await sampling;
      await client.end();
      const locks: HeldLock[] = [...held].map(([lock, { first, last }]) => {
        const [, relation = '', mode = ''] = lock.split(' ');
        return { relation, mode, ms: Math.round(last - first) };
      });
      const longest = locks.toSorted((a, b) => b.ms - a.ms).slice(0, 5);
      return { samples, relations: locks.length, longest };
    },
  };
}
