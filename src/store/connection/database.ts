/**
 * The connection to Postgres. A lost or frozen connection never ends or hangs the process, because every wait has a
 * limit on both sides. A client is destroyed after a failure and is not reused. If the server does not confirm a commit
 * with COMMIT, an error is thrown. Every exception is an IndexerError. No global setting of the driver is changed.
 */
import { setMaxListeners } from 'node:events';
import { Socket } from 'node:net';
import {
  Client,
  Pool,
  type ClientBase,
  type ClientConfig,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  types,
  type CustomTypesConfig,
} from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { smallFileExpected } from '../../config/small-file.ts';
import { unusableUrlFile } from '../../config/url-files.ts';
import { HostList, urlsOf } from './hosts.ts';
import { protectPassword } from './password-guard.ts';
import { timeQueries, type OnQuery } from './query-timing.ts';
import { hasCitus, distributedPlanSettings, sessionSettings, setUpQuery } from './session-settings.ts';
import { unreadableUrlError, assertUrlUnambiguous } from './url-problems.ts';
import { toStoreError } from './store-error.ts';

const connectLimitMs = 10_000;
const idleInTransactionLimitMs = 60_000;
const lockLimitMs = 30_000;
/** The client waits this much longer than the server, because the timeout error of the server is more informative. */
const queryGraceMs = 5_000;
const rollbackLimitMs = 2_000;
const closeLimitMs = 5_000;

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`, or with several hosts: `…@h1:5432,h2:5432/…`. */
  readonly url: string;
  /** The file that contains the URL, if the URL comes from a file. It is read again when the password is refused. */
  readonly urlFile?: string | undefined;
  /** The schema of all unqualified names. It need not exist yet. */
  readonly schema: string;
  /** Time limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  readonly applicationName: string;
  /** Maximum number of connections; default 4. */
  readonly maxConnections?: number;
  /** The server ends a transaction that is idle for this long, milliseconds; default 60 s. */
  readonly idleInTransactionMs?: number;
  /** If set, each connection is used only once. It is closed when the server has sent this many bytes over it. */
  readonly oneUse?: { readonly mostBytes: number };
  /** Called after every query of the pool. */
  readonly onQuery?: OnQuery;
}

export interface Database {
  readonly pool: Pool;
  readonly schema: string;
  /** The servers of the URL, and which of them is current. */
  readonly hosts: HostList;
  /** The server ends a transaction that is idle for this long, milliseconds. */
  readonly idleInTransactionMs: number;
  /** Lends one client. A failure of `work` destroys the client. Throws IndexerErrors only. */
  withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Runs `work` between BEGIN and COMMIT; rolls back if it fails. After an error, a commit is still possible. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
  /**
   * Waits for lent clients (at most `limitMs`, default 5000 ms), then closes every connection. Never rejects; may be
   * called twice.
   */
  close(limitMs?: number): Promise<void>;
}

/**
 * Prepares a pool; connects only when a client is requested.
 * @throws IndexerError `STORE_URL_INVALID` if the URL cannot be used
 */
export function openDatabase(options: DatabaseOptions): Database {
  assertUrlUnambiguous(options.url, options.schema);
  refuseUnusableUrl(options.url);
  const sockets = new Set<Socket>();
  const hosts = new HostList(options.url, options.urlFile);
  const { idleInTransactionMs = idleInTransactionLimitMs } = options;
  const pool = new Pool(poolConfig({ ...options, idleInTransactionMs }, hosts, sockets));
  // Idle clients report lost connections here. Without a listener, the process would end. The next query connects
  // again.
  pool.on('error', ignore);
  const closeController = new AbortController();
  // Each caller that waits for a client adds a listener, and any number of callers may wait.
  setMaxListeners(0, closeController.signal);

  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await lendCurrentClient(pool, hosts, closeController.signal);
    const movesBefore = hosts.moves;
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(true);
      const failure = toStoreError(error);
      // A server that became a standby keeps its connections, so the host is changed here. If a server is unreachable,
      // the next connection attempt detects it.
      if (failure.code === 'STORE_READ_ONLY') hosts.moveOn(failure, movesBefore);
      throw failure;
    }
  }

  let closed: Promise<void> | undefined;
  return {
    pool,
    schema: options.schema,
    hosts,
    idleInTransactionMs,
    withClient,
    transaction: (work) => withClient((client) => inTransaction(client, work)),
    close: (limitMs = closeLimitMs) => {
      closeController.abort();
      return (closed ??= closePool(pool, sockets, limitMs));
    },
  };
}

/**
 * The same pool, limited to `maxClients` connections at once, so that other users of the pool can use the rest. It is
 * closed with the pool.
 */
export function shareOf(database: Database, maxClients: number): Database {
  const waitingClients: (() => void)[] = [];
  let freeClients = maxClients;
  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (freeClients > 0) freeClients -= 1;
    else await new Promise<void>((resolve) => waitingClients.push(resolve));
    try {
      return await database.withClient(work);
    } finally {
      const next = waitingClients.shift();
      if (next === undefined) freeClients += 1;
      else next();
    }
  }
  return {
    ...database,
    withClient,
    transaction: (work) => withClient((client) => inTransaction(client, work)),
    close: () => Promise.resolve(),
  };
}

/** The same pool with a shorter statement timeout, milliseconds. */
export function withStatementTimeout(database: Database, statementMs: number): Database {
  const transaction = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    database.transaction(async (client) => {
      await client.query(`set local statement_timeout = ${String(statementMs)}`);
      return work(client);
    });
  return { ...database, withClient: transaction, transaction };
}

/** A client of the current host. Each host is tried once; idle clients of previous hosts are closed. */
async function lendCurrentClient(pool: Pool, hosts: HostList, closeSignal: AbortSignal): Promise<PoolClient> {
  for (let attempt = 1; ;) {
    const movesBefore = hosts.moves;
    try {
      const client = await lendClient(pool, closeSignal);
      if (hosts.isCurrent(client)) return client;
      client.release(true);
    } catch (thrown) {
      const error = toStoreError(thrown);
      if (!hosts.moveOn(error, movesBefore)) throw error;
      // A changed password does not mean that the host is unusable, so this attempt does not count.
      if (error.code !== 'STORE_PASSWORD_REFUSED') attempt += 1;
      if (attempt > hosts.count) throw error;
    }
  }
}

/** Lends a client. The driver's pool does not notify waiting callers when it ends; here they are rejected at once. */
function lendClient(pool: Pool, closeSignal: AbortSignal): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    const rejectClosed = (): void => reject(closedError());
    if (closeSignal.aborted) return rejectClosed();
    closeSignal.addEventListener('abort', rejectClosed, { once: true });
    pool.connect().then(
      (client) => {
        closeSignal.removeEventListener('abort', rejectClosed);
        return closeSignal.aborted ? client.release(true) : resolve(client);
      },
      (error: unknown) => {
        closeSignal.removeEventListener('abort', rejectClosed);
        reject(toStoreError(error));
      },
    );
  });
}

function closedError(): IndexerError {
  return new IndexerError('the connection pool is closed: the indexer is stopping', {
    code: 'STORE_CLOSED',
  });
}

async function inTransaction<T>(client: PoolClient, work: (client: PoolClient) => Promise<T>): Promise<T> {
  try {
    await client.query('begin');
    const result = await work(client);
    const { command } = await client.query('commit');
    // If the transaction was aborted, the server responds to COMMIT with ROLLBACK and reports no error.
    if (command !== 'COMMIT') throw commitRefused(command);
    return result;
  } catch (error) {
    await rollBack(client);
    throw error;
  }
}

/**
 * Rolls back, so that a failed transaction releases its locks before a retry. Never rejects: if the connection is lost,
 * the server has released the locks.
 */
export async function rollBack(client: ClientBase): Promise<void> {
  const rollback: QueryConfig & { query_timeout: number } = { text: 'rollback', query_timeout: rollbackLimitMs };
  await client.query(rollback).catch(ignore);
}

function commitRefused(command: string): IndexerError {
  return new IndexerError(`Postgres answered COMMIT with ${command}: a statement of the transaction had failed`, {
    code: 'STORE_COMMIT_REFUSED',
    facts: { command },
  });
}

type PoolOptions = DatabaseOptions & Required<Pick<DatabaseOptions, 'idleInTransactionMs'>>;

function poolConfig(options: PoolOptions, hosts: HostList, sockets: Set<Socket>): PoolConfig {
  return {
    Client: clientOf(hosts, options.onQuery),
    max: options.maxConnections ?? 4,
    application_name: options.applicationName,
    connectionTimeoutMillis: connectLimitMs,
    query_timeout: options.statementTimeoutMs + queryGraceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: exactTypeParsers,
    ...(options.oneUse === undefined ? {} : { maxUses: 1 }),
    stream: () => trackedSocket(sockets, options.oneUse?.mostBytes),
    onConnect: sessionSetup(options, hosts.count > 1),
  };
}

/** A subclass of the driver's client that connects to the host that is current when the client is created. */
function clientOf(hosts: HostList, onQuery: OnQuery | undefined): new (config?: ClientConfig) => Client {
  return class extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: hosts.url() });
      protectPassword(this);
      hosts.note(this);
      if (onQuery !== undefined) timeQueries(this, onQuery);
    }
  };
}

/**
 * Creates the socket of a client, because only the creator of a socket can close a connection that no longer responds.
 */
function trackedSocket(sockets: Set<Socket>, maxBytes: number | undefined): Socket {
  const socket = new Socket();
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  if (maxBytes !== undefined) limitBytes(socket, maxBytes);
  return socket;
}

/** Destroys a socket that received more than this many bytes: the driver itself buffers rows of any size. */
function limitBytes(socket: Socket, maxBytes: number): void {
  const watch = setInterval(() => {
    if (socket.bytesRead > maxBytes) socket.destroy(resultTooLargeError(maxBytes));
  }, 20).unref();
  socket.once('close', () => clearInterval(watch));
}

function resultTooLargeError(maxBytes: number): IndexerError {
  return new IndexerError(`the result is larger than ${String(maxBytes / 1024 / 1024)} MiB`, {
    code: 'QUERY_REFUSED',
    remedy: 'select fewer rows, or fewer columns of each',
  });
}

/** The return type is `unknown` because the driver declares the result as void but awaits the promise. */
function sessionSetup(options: PoolOptions, primaryOnly: boolean): (client: ClientBase) => unknown {
  const { schema, statementTimeoutMs, idleInTransactionMs } = options;
  const lockTimeoutMs = Math.min(lockLimitMs, statementTimeoutMs);
  const limits = { statementTimeoutMs, lockTimeoutMs, idleInTransactionMs, idleSessionMs: 0 };
  const sessionSetupQuery = setUpQuery(
    sessionSettings(schema, limits),
    `${isReadOnly} as read_only`,
    `${hasCitus} as citus`,
  );
  return (client) => {
    // While a client is lent, the pool's own listener is absent. A lost connection must not end the process.
    client.on('error', ignore);
    return client.query<SessionFacts>(sessionSetupQuery.text, sessionSetupQuery.values).then(({ rows: [facts] }) => {
      if (primaryOnly) refuseReadOnly(facts?.read_only === true);
      return facts?.citus === true ? client.query(distributedPlanSettings) : undefined;
    });
  };
}

interface SessionFacts {
  readonly read_only: boolean;
  readonly citus: boolean;
}

/** SQL: true on a standby, or if sessions are read-only by default. */
export const isReadOnly = `(pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean)`;

/** Rejects a read-only host, so that the next host of the list is tried. @throws IndexerError STORE_READ_ONLY */
export function refuseReadOnly(readOnly: boolean): void {
  if (!readOnly) return;
  throw new IndexerError('Postgres accepts no writes: this host is a standby, or set to read-only', {
    code: 'STORE_READ_ONLY',
    remedy: 'name the primary among the hosts of DATABASE_URL, or promote one of them',
  });
}

async function closePool(pool: Pool, sockets: ReadonlySet<Socket>, limitMs: number): Promise<void> {
  const poolEnd = pool.end().catch(ignore);
  if (await isSettledWithin(poolEnd, limitMs)) return;
  for (const socket of sockets) socket.destroy();
  await isSettledWithin(poolEnd, 1_000);
}

async function isSettledWithin(pending: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const isSettled = await Promise.race([pending.then(() => true), limit]);
  clearTimeout(timer);
  return isSettled;
}

function refuseUnusableUrl(url: string): void {
  const fileProblem = urlsOf(url).map(unusableUrlFile).find(Boolean);
  if (fileProblem !== undefined) {
    throw new IndexerError(`the database URL names a certificate file that cannot be used: ${fileProblem}`, {
      code: 'STORE_URL_INVALID',
      remedy: `correct sslrootcert, sslcert or sslkey in the URL: each is ${smallFileExpected}`,
    });
  }
  try {
    // The constructor parses the URL and reads the certificates it names; it does not connect.
    for (const connectionString of urlsOf(url)) void new Client({ connectionString });
  } catch (thrown) {
    // The error of the driver contains the URL with its password, so it is neither logged nor kept as a cause.
    const file = unreadableFile(thrown);
    if (file === undefined) throw unreadableUrlError();
    throw new IndexerError(`the database URL names a certificate file that cannot be read: ${file}`, {
      code: 'STORE_URL_INVALID',
      remedy: 'correct sslrootcert, sslcert or sslkey in the URL, and let this process read the file',
    });
  }
}

/** The path and the reason if the error is about a file. */
function unreadableFile(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { path, code, syscall } = thrown as NodeJS.ErrnoException;
  return path === undefined || syscall === undefined ? undefined : `${path} (${code ?? 'no reason given'})`;
}

function ignore(): void {}

// Conversion of server values to JavaScript. It differs from the driver's only for int8, which must stay exact.

const int8 = 20;
const int8Array = 1016;
/** The driver's lookup, typed for any type number: the server sends types that the driver's closed list lacks. */
const driverParser = types.getTypeParser as (oid: number, format?: 'text' | 'binary') => (text: string) => unknown;

/** int8 as a number if that is exact, otherwise as a bigint; other types as the driver converts them. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  if (format !== 'binary' && oid === int8) return parseInt8;
  if (format !== 'binary' && oid === int8Array) return parseInt8Array;
  return driverParser(oid, format);
}

/** Converts int8 exactly and other types as the driver does. Does not affect other users of the driver. */
const exactTypeParsers: CustomTypesConfig = { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };

function parseInt8(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

function parseInt8Array(text: string): unknown {
  const entries = driverParser(int8Array)(text) as readonly (string | null)[];
  return entries.map((entry) => (entry === null ? null : parseInt8(entry)));
}
