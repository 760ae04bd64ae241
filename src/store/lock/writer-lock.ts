/**
 * The writer lock: a session advisory lock on a connection of its own, released when that connection ends. While one
 * indexer holds the lock, other indexers wait. If a stale writer still tries to write, the epoch in the stream row
 * makes its commits fail.
 *
 * The holder sends several heartbeats within each lease. The server ends a session that has sent nothing for one lease.
 * The holder stops writing at that time or earlier, because it measures the lease with its own monotonic clock,
 * starting at the last heartbeat that the server answered.
 */
import { type ClientBase, escapeIdentifier } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { type LockConnection, openLockConnection } from './lock-connection.ts';
import { sharedSession } from '../connection/pooler-check.ts';
import { toStoreError } from '../connection/store-error.ts';

export interface WriterLock {
  /** Rejects when the writer lock is lost; never resolves. */
  readonly lost: Promise<never>;
  release(): Promise<void>;
}

const longestBeatMs = 1_000;

/**
 * SQL: key of the lock. Its two numbers are hashes of the program and of the schema ($1). Advisory locks are separate
 * for each database.
 */
const lockOf = `hashtext('ledger-indexer writer'), hashtext($1)`;

/**
 * SQL: a heartbeat that also checks whether a session waits in the queue for the lock. Indexers only try the lock and
 * do not wait for it, so a waiting session belongs to a command that needs the lock. Only sessions with the rights of
 * the owner of the tables count.
 */
const heartbeatQuery = `
select pg_backend_pid() as backend,
       exists (select from pg_locks l
                 join pg_stat_activity a on a.pid = l.pid
                 join pg_namespace n on n.nspname = $1
                where l.locktype = 'advisory' and not l.granted and l.objsubid = 2
                  and l.database = (select oid from pg_database where datname = current_database())
                  and l.classid = hashtext('ledger-indexer writer')::oid and l.objid = hashtext($1)::oid
                  and pg_has_role(a.usesysid, n.nspowner, 'usage')) as asked`;

/** A candidate for the writer lock. It keeps its connection while it waits. */
export class WriterCandidate {
  readonly #database: Database;
  readonly #leaseMs: number;
  #connection: LockConnection | undefined;
  #held: HeldLock | undefined;

  /** @param leaseMs time without a heartbeat after which the holder is replaced, milliseconds */
  constructor(database: Database, leaseMs: number) {
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  /**
   * Connects like `tryLock` and disconnects, to refuse an unusable address before it is used.
   * @throws IndexerError STORE_POOLER_UNSUPPORTED, STORE_UNREACHABLE …
   */
  async checkAddress(): Promise<void> {
    const connection = await openLockConnection(this.#database, this.#leaseMs);
    await connection.end();
  }

  /**
   * Tries once to take the lock. Returns undefined if another indexer holds it.
   * @throws IndexerError; the next call connects again
   */
  async tryLock(): Promise<WriterLock | undefined> {
    try {
      this.#connection ??= await openLockConnection(this.#database, this.#leaseMs);
      const { client } = this.#connection;
      const requestedAt = performance.now();
      const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${lockOf}) as held`, [
        this.#database.schema,
      ]);
      if (rows[0]?.held !== true) return undefined;
      await terminateStaleWriters(client, this.#database.schema);
      const { schema } = this.#database;
      this.#held = new HeldLock(this.#connection, { schema, leaseMs: this.#leaseMs, requestedAt }, () => this.close());
      return this.#held;
    } catch (thrown) {
      await this.close();
      throw toStoreError(thrown);
    }
  }

  /**
   * Waits for the lock in the queue of the server. Sessions that only try the lock cannot overtake the queue. The
   * holder releases the lock within a second, or loses it when its lease ends. Returns undefined if no holder released
   * the lock in time. Only owners of the tables can use this, because holders ignore other sessions.
   */
  async askLock(waitMs: number): Promise<WriterLock | undefined> {
    try {
      this.#connection ??= await openLockConnection(this.#database, this.#leaseMs);
      const { client } = this.#connection;
      await client.query(`set lock_timeout = ${String(Math.ceil(waitMs))}`);
      await client.query(`select pg_advisory_lock(${lockOf})`, [this.#database.schema]);
    } catch (thrown) {
      await this.close();
      const error = toStoreError(thrown);
      if (error.code === 'STORE_LOCKED') return undefined;
      throw error;
    }
    // The session now holds the lock twice, and loses both with the connection.
    return this.tryLock();
  }

  /** Whether this process certainly holds the lock. */
  get isHeld(): boolean {
    return this.#held?.isAlive() === true;
  }

  /** Throws unless this process certainly holds the lock. @throws IndexerError STORE_LOCK_LOST (fenced) */
  assertHeld(): void {
    if (!this.isHeld) throw lockLost(this.#leaseMs);
  }

  /** Releases the lock and closes the connection. Never rejects. It may be called again, and `tryLock` may follow. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#held?.stop();
    this.#held = undefined;
    await connection?.end();
  }
}

interface HeldLockState {
  readonly schema: string;
  readonly leaseMs: number;
  /** When the lock was requested, milliseconds of the monotonic clock. */
  readonly requestedAt: number;
}

class HeldLock implements WriterLock {
  readonly lost: Promise<never>;
  readonly #connection: LockConnection;
  readonly #schema: string;
  readonly #leaseMs: number;
  readonly #close: () => Promise<void>;
  readonly #beats: NodeJS.Timeout;
  #lose: (reason: unknown) => void = () => undefined;
  #gone = false;
  #waiting = false;
  /**
   * When the last answered heartbeat was sent. The server received it later, so the timer of the server ends later than
   * the timer here.
   */
  #aliveAt: number;

  constructor(connection: LockConnection, { schema, leaseMs, requestedAt }: HeldLockState, close: () => Promise<void>) {
    this.#connection = connection;
    this.#schema = schema;
    this.#leaseMs = leaseMs;
    this.#aliveAt = requestedAt;
    this.#close = close;
    this.lost = new Promise<never>((_resolve, reject) => {
      this.#lose = reject;
    });
    // A rejection without a listener would end the process. Listeners that are added later still receive the rejection.
    this.lost.catch(() => undefined);
    connection.client.on('error', (error) => this.#fail(toStoreError(error)));
    connection.client.once('end', () => this.#fail(lockLost(leaseMs)));
    this.#beats = setInterval(() => void this.#beat(), Math.min(longestBeatMs, leaseMs / 4)).unref();
  }

  isAlive(): boolean {
    return !this.#gone && performance.now() - this.#aliveAt < this.#leaseMs;
  }

  release(): Promise<void> {
    return this.#close();
  }

  stop(): void {
    this.#gone = true;
    clearInterval(this.#beats);
  }

  async #beat(): Promise<void> {
    if (!this.isAlive()) return this.#fail(lockLost(this.#leaseMs));
    if (this.#waiting) return;
    this.#waiting = true;
    const requestedAt = performance.now();
    try {
      const { client, backend } = this.#connection;
      const { rows } = await client.query<{ backend: number; asked: boolean }>(heartbeatQuery, [this.#schema]);
      if (rows[0]?.backend !== backend) return this.#fail(sharedSession());
      this.#aliveAt = requestedAt;
      if (rows[0].asked) this.#fail(lockRequested());
    } catch (thrown) {
      this.#fail(toStoreError(thrown));
    } finally {
      this.#waiting = false;
    }
  }

  #fail(reason: IndexerError): void {
    if (this.#gone) return;
    this.stop();
    this.#lose(reason);
  }
}

function lockRequested(): IndexerError {
  return new IndexerError('an owner of the tables requested the writer lock', { code: 'STORE_LOCK_REQUESTED' });
}

function lockLost(leaseMs: number): IndexerError {
  return new IndexerError(`no heartbeat reached Postgres within the lease of ${String(leaseMs)} ms`, {
    code: 'STORE_LOCK_LOST',
    remedy:
      'nothing is written until the lock is ours again; if it repeats, check this machine for pauses or raise INDEXER_LEASE',
  });
}

// Ends sessions that a previous writer left open. Once this process holds the lock, the epoch of these sessions is
// invalid. However, a session that hangs during a batch keeps its rows locked. No timeout of the server ends a session
// that waits for COPY data, neither statement_timeout nor idle_in_transaction_session_timeout.

/** Application name of sessions that write batches, used to find them. At most 63 bytes are kept by the server. */
export function writerSessionName(schema: string): string {
  return `ledger-indexer ${schema}`;
}

/** Tables that are locked by every batch, every seed and every write of completions. */
const writerTables = ['stream', 'updates', 'contracts', 'completion_ranges'] as const;

/**
 * Terminates sessions of this role that have written to this schema as an indexer and have not committed. The holder of
 * the lock calls it before it writes. Resolves to the number of terminated sessions.
 */
export async function terminateStaleWriters(client: ClientBase, schema: string): Promise<number> {
  const tables = writerTables.map((table) => `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`);
  const { rows } = await client.query<{ oids: readonly number[] }>(
    'select array(select to_regclass(t)::oid from unnest($1::text[]) t) as oids',
    [tables],
  );
  // A role that logs in and then switches to another role can end sessions of the login role only while it is not
  // switched.
  await client.query('begin; set local role none');
  const { rowCount } = await client.query(
    `select pg_terminate_backend(a.pid)
       from pg_stat_activity a
      where a.datname = current_database() and a.usename = session_user and a.application_name = $1
        and exists (select from pg_locks l
                     where l.pid = a.pid and l.mode = 'RowExclusiveLock' and l.granted
                       and l.database = (select oid from pg_database where datname = current_database())
                       and l.relation = any ($2::oid[]))`,
    [writerSessionName(schema), rows[0]?.oids ?? []],
  );
  await client.query('commit');
  return rowCount ?? 0;
}
