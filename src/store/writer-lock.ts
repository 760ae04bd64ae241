/**
 * The right to write, held as a session advisory lock on a connection of its own: it vanishes with the connection.
 * The lock keeps a second indexer waiting; what makes a stale writer harmless is the epoch in the stream row.
 */
import { Socket } from 'node:net';
import { Client } from 'pg';
import type { Database } from './database.ts';
import { toStoreError } from './store-error.ts';

export interface WriterLock {
  /** Rejects when the connection that holds the lock is lost; never resolves. */
  readonly lost: Promise<never>;
  release(): Promise<void>;
}

const answerLimitMs = 5_000;
const farewellLimitMs = 1_000;

/** A server that lost sight of us must free the lock in seconds; the defaults of the system are hours. */
const quickKeepalive = `set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`;

/** Tries once. Undefined when another indexer holds the lock. */
export async function tryWriterLock(url: string, database: Database): Promise<WriterLock | undefined> {
  const socket = new Socket();
  const client = new Client({
    connectionString: url,
    application_name: 'ledger-indexer lock',
    connectionTimeoutMillis: 10_000,
    query_timeout: answerLimitMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream: () => socket,
  });
  const leave = (): Promise<void> => end(client, socket);
  const lost = new Promise<never>((_resolve, reject) => {
    client.on('error', (error) => {
      reject(toStoreError(error));
    });
  });
  // Nobody may be listening yet; whoever listens later still sees the rejection.
  lost.catch(() => undefined);
  try {
    await client.connect();
    await client.query(quickKeepalive);
    const { rows } = await client.query<{ held: boolean }>(
      `select pg_try_advisory_lock(hashtext('ledger-indexer writer'), hashtext($1)) as held`,
      [database.schema],
    );
    if (rows[0]?.held === true) return { lost, release: leave };
    await leave();
    return undefined;
  } catch (thrown) {
    await leave();
    throw toStoreError(thrown);
  }
}

/** Says goodbye, and cuts the connection when nobody answers: a frozen server must not hold up a stop or a retry. */
async function end(client: Client, socket: Socket): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, farewellLimitMs);
  });
  await Promise.race([client.end().catch(() => undefined), limit]);
  clearTimeout(timer);
  socket.destroy();
}
