/**
 * The connection that holds or waits for the writer lock. It runs no other statements. The server ends it if no
 * heartbeat arrives for one lease, so a frozen or disconnected holder is replaced without intervention.
 */
import { Socket } from 'node:net';
import { Client } from 'pg';
import { isReadOnly, refuseReadOnly, type Database } from '../connection/database.ts';
import { protectPassword } from '../connection/password-guard.ts';
import { refusePooler } from '../connection/pooler-check.ts';
import { sessionSettings, setUpQuery, type Setting } from '../connection/session-settings.ts';
import { toStoreError } from '../connection/store-error.ts';

const connectLimitMs = 10_000;
const endTimeoutMs = 1_000;

export interface LockConnection {
  readonly client: Client;
  /** Process id of the server session. It is constant unless there is a pooler in between. */
  readonly backend: number;
  /**
   * Closes the connection cleanly, or destroys it if the server does not respond: a server that does not respond must
   * not delay a stop or a retry.
   */
  end(): Promise<void>;
}

/**
 * Connects to the current host and sets the lease.
 * @throws IndexerError STORE_POOLER_UNSUPPORTED, STORE_READ_ONLY (several hosts only), STORE_UNREACHABLE …
 */
export async function openLockConnection(database: Database, leaseMs: number): Promise<LockConnection> {
  const { hosts } = database;
  const movesBefore = hosts.moves;
  const socket = new Socket();
  const client = lockClient(hosts.url(), leaseMs, socket);
  // The holder of the lock adds its own listener later. Until then, this listener prevents a lost connection from
  // ending the process.
  client.on('error', () => undefined);
  const endConnection = (): Promise<void> => end(client, socket);
  try {
    await client.connect();
    const { rows } = await client.query<{ backend: number; read_only: boolean }>(
      `select pg_backend_pid() as backend, ${isReadOnly} as read_only`,
    );
    const backend = rows[0]?.backend ?? 0;
    if (hosts.count > 1) refuseReadOnly(rows[0]?.read_only === true);
    await refusePooler(client, backend, () => lockClient(hosts.url(), leaseMs, new Socket()));
    // This runs after the pooler check, because a pooler would keep the settings for other clients.
    const { text, values } = setUpSession(database.schema, leaseMs);
    await client.query(text, values);
    return { client, backend, end: endConnection };
  } catch (thrown) {
    await endConnection();
    const error = toStoreError(thrown);
    hosts.moveOn(error, movesBefore);
    throw error;
  }
}

function lockClient(connectionString: string, leaseMs: number, socket: Socket): Client {
  const client = new Client({
    connectionString,
    application_name: 'ledger-indexer lock',
    connectionTimeoutMillis: connectLimitMs,
    query_timeout: leaseMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    stream: () => socket,
  });
  protectPassword(client);
  return client;
}

/**
 * Makes the server end a session that sends nothing for one lease. If the host of the session disappears while the
 * server sends a response, TCP keepalives end the session.
 */
function setUpSession(schema: string, leaseMs: number) {
  const limits = {
    statementTimeoutMs: leaseMs,
    lockTimeoutMs: leaseMs,
    idleInTransactionMs: leaseMs,
    idleSessionMs: leaseMs,
  };
  const keepAlive: readonly Setting[] = [
    ['tcp_keepalives_idle', '10'],
    ['tcp_keepalives_interval', '5'],
    ['tcp_keepalives_count', '3'],
  ];
  return setUpQuery([...sessionSettings(schema, limits), ...keepAlive]);
}

async function end(client: Client, socket: Socket): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, endTimeoutMs);
  });
  await Promise.race([client.end().catch(() => undefined), limit]);
  clearTimeout(timer);
  socket.destroy();
}
