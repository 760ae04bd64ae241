/**
 * Detects poolers that lend the same server session to several clients (pgbouncer in transaction or statement mode).
 * Behind such a pooler an advisory lock does not belong to one client. In a test, two indexers both assumed that they
 * held the lock. Session mode is supported.
 */
import type { Client } from 'pg';
import { elapsed } from '../../config/pause.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

const probeTimeoutMs = 5_000;
/**
 * Number of probes. If other clients use the pooler at the same moment, a single probe may not detect a shared session.
 * With this many probes, a shared session is almost always detected.
 */
const rounds = 10;

/**
 * Resolves if the server session behind `client` is exclusive, as far as can be checked now.
 * @param backend process id that the server returns on this connection
 * @param createClient creates an unconnected client for the same address
 * @throws IndexerError STORE_POOLER_UNSUPPORTED (park)
 */
export async function refusePooler(client: Client, backend: number, createClient: () => Client): Promise<void> {
  // The server reports its process id when a client connects. A pooler reports a made-up id.
  const reportedPid: unknown = Reflect.get(client, 'processID');
  if (reportedPid === backend) return;
  const probe = createClient();
  probe.on('error', () => undefined);
  try {
    await probe.connect();
    for (let round = 0; round < rounds; round += 1) {
      if (await shares(client, backend, probe)) throw sharedSession();
    }
  } finally {
    await Promise.race([probe.end().catch(() => undefined), elapsed(probeTimeoutMs)]);
  }
}

/**
 * Whether the pooler lends our session to the probe. The probe keeps a server session busy with a transaction. If our
 * session is exclusive, the probe has a different session, and ours does not change.
 */
async function shares(client: Client, backend: number, probe: Client): Promise<boolean> {
  // A pooler lends the session that was returned last, so the probe gets that session.
  if ((await backendOf(client)) !== backend) return true;
  const canBegin = await probe.query('begin').then(
    () => true,
    // Statement mode rejects transactions.
    () => false,
  );
  if (!canBegin || (await backendOf(probe)) === backend) return true;
  const isSameBackend = (await backendOf(client)) === backend;
  await probe.query('rollback');
  return !isSameBackend;
}

/** Process id of the server session that runs the query. */
async function backendOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ backend: number }>('select pg_backend_pid() as backend');
  return rows[0]?.backend ?? 0;
}

/** The error for a server session that changed during a connection. */
export function sharedSession(): IndexerError {
  return new IndexerError('a pooler lends our server session to others: the writer lock cannot be held through it', {
    code: 'STORE_POOLER_UNSUPPORTED',
    remedy: 'point DATABASE_URL at Postgres itself, or set pool_mode = session for this database in pgbouncer',
  });
}
