/**
 * Finds poolers that lend the same server session to several clients (pgbouncer in transaction or statement mode).
 * Behind one, an advisory lock has no owner: two indexers both believed that they held it. Session mode is fine.
 */
import type { Client } from 'pg';
import { elapsed } from '../../config/pause.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

const answerLimitMs = 5_000;
/**
 * Other clients of the pooler at the same moment can hide once that it lends our session, but hardly this many times.
 */
const rounds = 10;

/**
 * Passes if the server session behind `client` is exclusive, as far as can be checked now.
 * @param backend process id that the server returns on this connection
 * @param another a client for the same address, not connected yet
 * @throws IndexerError STORE_POOLER_UNSUPPORTED (park)
 */
export async function refusePooler(client: Client, backend: number, another: () => Client): Promise<void> {
  // The server reports its process id when a client connects; a pooler reports an invented one.
  const reportedPid: unknown = Reflect.get(client, 'processID');
  if (reportedPid === backend) return;
  const probe = another();
  probe.on('error', () => undefined);
  try {
    await probe.connect();
    for (let round = 0; round < rounds; round += 1) {
      if (await shares(client, backend, probe)) throw sharedSession();
    }
  } finally {
    await Promise.race([probe.end().catch(() => undefined), elapsed(answerLimitMs)]);
  }
}

/**
 * The probe keeps its server session busy: either ours is another one and stays the same, or it was never exclusive.
 */
async function shares(client: Client, backend: number, probe: Client): Promise<boolean> {
  // The session that was lent last is lent next, to the probe.
  if ((await backendOf(client)) !== backend) return true;
  const begun = await probe.query('begin').then(
    () => true,
    // Statement mode refuses transactions.
    () => false,
  );
  if (!begun || (await backendOf(probe)) === backend) return true;
  const kept = (await backendOf(client)) === backend;
  await probe.query('rollback');
  return !kept;
}

/** Process id of the server session that responds. */
async function backendOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ backend: number }>('select pg_backend_pid() as backend');
  return rows[0]?.backend ?? 0;
}

/** Error for a server session that changed under a connection. */
export function sharedSession(): IndexerError {
  return new IndexerError('a pooler lends our server session to others: the writer lock cannot be held through it', {
    code: 'STORE_POOLER_UNSUPPORTED',
    remedy: 'point DATABASE_URL at Postgres itself, or set pool_mode = session for this database in pgbouncer',
  });
}
