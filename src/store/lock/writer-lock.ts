/**
 * The right to write, held as a session advisory lock on a connection of its own: it vanishes with the connection.
 * The lock keeps a second indexer waiting; what makes a stale writer harmless is the epoch in the stream row.
 *
 * The holder shows a sign of life often within each lease. The server ends a silent session after a lease; the holder,
 * by its own monotonic clock counted from the last sign that was answered, gives up no later than that.
 */
import { type ClientBase, escapeIdentifier } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { type LockConnection, openLockConnection } from './lock-connection.ts';
import { sharedSession } from '../connection/pooler-check.ts';
import { toStoreError } from '../connection/store-error.ts';

export interface WriterLock {
  /** Rejects when the right to write is lost; never resolves. */
  readonly lost: Promise<never>;
  release(): Promise<void>;
}

const longestBeatMs = 1_000;

/** Advisory locks belong to one database; the two numbers are the program and the schema, $1. */
const lockOf = `hashtext('ledger-indexer writer'), hashtext($1)`;

/**
 * A sign of life, and the question whether somebody waits in the queue: indexers only try, so it is who asks for the lock. Of
 * who may not do as the owner of the tables no notice is taken.
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

/** This process's place in the queue for the right to write; keeps its connection while it waits. */
export class WriterCandidate {
  readonly #database: Database;
  readonly #leaseMs: number;
  #connection: LockConnection | undefined;
  #held: HeldLock | undefined;

  /** @param leaseMs after so long without a sign of life the holder is replaced, milliseconds */
  constructor(database: Database, leaseMs: number) {
    this.#database = database;
    this.#leaseMs = leaseMs;
  }

  /**
   * Connects as `tryLock` does and leaves again, so that an address of no use is refused before it is used for anything.
   * @throws IndexerError STORE_POOLER_UNSUPPORTED, STORE_UNREACHABLE …
   */
  async checkAddress(): Promise<void> {
    const connection = await openLockConnection(this.#database, this.#leaseMs);
    await connection.end();
  }

  /** Asks once. Undefined when another indexer holds the lock. @throws IndexerError; the next call connects anew */
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
   * Waits for the lock in the queue of the server, which who merely tries cannot pass; the holder sees it and gives way within
   * a second, or loses it with its lease. Undefined when nobody gave way in time. For owners of the tables: of others no
   * holder takes notice.
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
    // Held twice by one session now, and gone with it as any other.
    return this.tryLock();
  }

  /** Whether the lock is surely ours. */
  get isHeld(): boolean {
    return this.#held?.isAlive() === true;
  }

  /** Passes while the lock is surely ours. @throws IndexerError STORE_LOCK_LOST (fenced) */
  assertHeld(): void {
    if (!this.isHeld) throw lockLost(this.#leaseMs);
  }

  /** Gives up lock and connection. Never rejects; can be called again, and `tryLock` after it. */
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
  /** When the lock was asked for, by the monotonic clock. */
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
  /** When the last question was asked that has been answered: the server's clock for us started later. */
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
    // Nobody may be listening yet; whoever listens later still sees the rejection.
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
      if (rows[0].asked) this.#fail(lockAsked());
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

function lockAsked(): IndexerError {
  return new IndexerError('an owner of the tables asked for the right to write', { code: 'STORE_LOCK_REQUESTED' });
}

function lockLost(leaseMs: number): IndexerError {
  return new IndexerError(`no sign of life reached Postgres within the lease of ${String(leaseMs)} ms`, {
    code: 'STORE_LOCK_LOST',
    remedy:
      'nothing is written until the lock is ours again; if it repeats, look for pauses of this machine or raise INDEXER_LEASE',
  });
}

// Ends what a former writer left behind. Its epoch is worthless once the lock is ours, but a session of its that hangs in
// the middle of a batch keeps rows locked: one that waits for COPY data is reached by no time-out of the server, neither
// statement_timeout nor idle_in_transaction_session_timeout.

/** Name of the sessions that write batches, by which they are found; fits the 63 bytes of the server. */
export function writerSessionName(schema: string): string {
  return `ledger-indexer ${schema}`;
}

/** Tables that every batch or seed locks, and every write of completions. */
const written = ['stream', 'updates', 'contracts', 'completion_ranges'] as const;

/**
 * Terminates the sessions of this role that have written to this schema as an indexer and not committed. To be called by
 * the holder of the lock, before it writes. Resolves to how many there were.
 */
export async function endStaleWriters(client: ClientBase, schema: string): Promise<number> {
  const tables = written.map((table) => `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`);
  const { rows } = await client.query<{ oids: readonly number[] }>(
    'select array(select to_regclass(t)::oid from unnest($1::text[]) t) as oids',
    [tables],
  );
  // Who logs in as one role and works as another may end the sessions of the first, and only while it is the first.
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
