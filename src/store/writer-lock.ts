/**
 * The right to write, held as a session advisory lock on a connection of its own: it vanishes with the connection.
 * The lock keeps a second indexer waiting; what makes a stale writer harmless is the epoch in the stream row.
 */
import { Client } from 'pg';
import type { Database } from './database.ts';
import { toStoreError } from './store-error.ts';

export interface WriterLock {
  /** Rejects when the connection that holds the lock is lost; never resolves. */
  readonly lost: Promise<never>;
  release(): Promise<void>;
}

/** Tries once. Undefined when another indexer holds the lock. */
export async function tryWriterLock(url: string, database: Database): Promise<WriterLock | undefined> {
  const client = new Client({
    connectionString: url,
    application_name: 'ledger-indexer lock',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  const lost = new Promise<never>((_resolve, reject) => {
    client.on('error', (error) => {
      reject(toStoreError(error));
    });
  });
  // Nobody may be listening yet; whoever listens later still sees the rejection.
  lost.catch(() => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ held: boolean }>(
      `select pg_try_advisory_lock(hashtext('ledger-indexer writer'), hashtext($1)) as held`,
      [database.schema],
    );
    if (rows[0]?.held === true) return { lost, release: () => client.end().catch(() => undefined) };
    await client.end();
    return undefined;
  } catch (thrown) {
    void client.end().catch(() => undefined);
    throw toStoreError(thrown);
  }
}
