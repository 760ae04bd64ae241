/**
 * The writer lock, a session advisory lock on a connection of its own: it vanishes with the connection. The lock keeps
 * a second indexer waiting; the epoch in the stream row makes a stale writer harmless.
 *
 * The holder sends several heartbeats within each lease. The server ends a silent session after a lease; the holder, by
 * its own monotonic clock counted from the last heartbeat that was answered, stops writing no later than that.
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

/** Advisory locks belong to one database; the two numbers are the program and the schema, $1. */
const lockOf = `hashtext('ledger-indexer writer'), hashtext($1)`;

/**
 * A heartbeat, and a check whether a session waits in the queue: indexers only try the lock, so such a session requests
 * it. Only sessions with the rights of the owner of the tables count.
 */
const beat = `
select pg_backend_pid() as backend,
       exists (select from pg_locks l
                 join pg_stat_activity a on a.pid = l.pid
                 join pg_namespace n on n.nspname = $1
                where l.locktype = 'advisory' and not l.granted and l.objsubid = 2
                  and l.database = (select oid from pg_database where datname = current_database())
                  and l.classid = hashtext('ledger-indexer writer')::oid and l.objid = hashtext($1)::oid
                  and pg_has_role(a.usesysid, n.nspowner, 'usage')) as asked`;

/** A candidate for the writer lock; keeps its connection while it waits. */
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
   * Connects as `tryLock` does and disconnects, so that an unusable address is refused before it is used.
   * @throws IndexerError STORE_POOLER_UNSUPPORTED, STORE_UNREACHABLE …
   */
  async checkAddress(): Promise<void> {
    const connection = await openLockConnection(this.#database, this.#leaseMs);
    await connection.end();
  }

  /** Tries once. Undefined if another indexer holds the lock. @throws IndexerError; the next call connects again */
  async tryLock(): Promise<WriterLock | undefined> {
    try {
      this.#connection ??= await openLockConnection(this.#database, this.#leaseMs);
      const { client } = this.#connection;
      const requestedAt = performance.now();
      const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${lockOf}) as held`, [
        this.#database.schema,
      ]);
      if (rows[0]?.held !== true) return undefined;
      await endStaleWriters(client, this.#database.schema);
      const { schema } = this.#database;
      this.#held = new HeldLock(this.#connection, { schema, leaseMs: this.#leaseMs, requestedAt }, () => this.close());
      return this.#held;
    } catch (thrown) {
      await this.close();
      throw toStoreError(thrown);
    }
  }

  /**
   * Waits for the lock in the queue of the server, which sessions that only try cannot pass; the holder notices and
   * gives way within a second, or loses the lock with its lease. Undefined if no holder gave way in time. Only for
   * owners of the tables: holders ignore others.
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

  /** Whether the lock is certainly ours. */
  get isHeld(): boolean {
    return this.#held?.isAlive() === true;
  }

  /** Passes while the lock is certainly ours. @throws IndexerError STORE_LOCK_LOST (fenced) */
  assertHeld(): void {
    if (!this.isHeld) throw lockLost(this.#leaseMs);
  }

  /** Releases lock and connection. Never rejects; can be called again, and `tryLock` after it. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#held?.stop();
    this.#held = undefined;
    await connection?.end();
  }
}

interface Held {
  readonly schema: string;
  readonly leaseMs: number;
  /** When the lock was requested, by the monotonic clock. */
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
  /** When the last answered heartbeat was sent: the server's timer for us started later. */
  #aliveAt: number;

  constructor(connection: LockConnection, { schema, leaseMs, requestedAt }: Held, close: () => Promise<void>) {
    this.#connection = connection;
    this.#schema = schema;
    this.#leaseMs = leaseMs;
    this.#aliveAt = requestedAt;
    this.#close = close;
    this.lost = new Promise<never>((_resolve, reject) => {
      this.#lose = reject;
    });
    // There may be no listener yet; a later one still sees the rejection.
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
      const { rows } = await client.query<{ backend: number; asked: boolean }>(beat, [this.#schema]);
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

// Ends sessions left behind by a previous writer. Its epoch is invalid once the lock is ours, but one of its sessions
// that hangs during a batch keeps rows locked: no server timeout ends one that waits for COPY data, neither
// statement_timeout nor idle_in_transaction_session_timeout.

/** Application name of sessions that write batches, by which they are found; fits the 63 bytes of the server. */
export function writerSessionName(schema: string): string {
  return `ledger-indexer ${schema}`;
}

/** Tables locked by every batch or seed, and by every write of completions. */
const written = ['stream', 'updates', 'contracts', 'completion_ranges'] as const;

/**
 * Terminates the sessions of this role that have written to this schema as an indexer and not committed. The holder of
 * the lock calls it before it writes. Resolves to the number of terminated sessions.
 */
export async function endStaleWriters(client: ClientBase, schema: string): Promise<number> {
  const tables = written.map((table) => `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`);
  const { rows } = await client.query<{ oids: readonly number[] }>(
    'select array(select to_regclass(t)::oid from unnest($1::text[]) t) as oids',
    [tables],
  );
  // A role that logs in and then works as another may end the sessions of the login role, and only while it is that
  // role.
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
