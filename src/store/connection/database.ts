/**
 * The connection to Postgres. Promises: a lost or frozen connection never ends the process and never hangs it (every
 * wait has a limit on both sides), a client that saw a failure is destroyed rather than reused, a commit that was not
 * confirmed as COMMIT is an error, and everything thrown is an IndexerError. Nothing global is changed in the driver.
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
import { guardPassword } from './password-guard.ts';
import { timeQueries, type OnQuery } from './query-timing.ts';
import { hasCitus, planDistributed, sessionSettings, setUpQuery } from './session-settings.ts';
import { misread, refuseMisread } from './url-problems.ts';
import { toStoreError } from './store-error.ts';

const connectLimitMs = 10_000;
const idleInTransactionLimitMs = 60_000;
const lockLimitMs = 30_000;
/** How much longer the client waits than the server: the server's own refusal says more than a silent socket. */
const queryGraceMs = 5_000;
const rollbackLimitMs = 2_000;
const closeLimitMs = 5_000;

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`, or with several hosts: `…@h1:5432,h2:5432/…`. */
  readonly url: string;
  /** The file that holds the URL, if it comes from one; read again when the password is refused. */
  readonly urlFile?: string | undefined;
  /** The schema every unqualified name refers to; need not exist yet. */
  readonly schema: string;
  /** Limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  readonly applicationName: string;
  /** Default 4. */
  readonly maxConnections?: number;
  /** The server ends a transaction in which nothing happens for so long, milliseconds; default 60 s. */
  readonly idleInTransactionMs?: number;
  /** Each connection is lent once, and cut when the server has sent so many bytes over it; default: neither. */
  readonly oneUse?: { readonly mostBytes: number };
  /** Told of every query of the pool. */
  readonly onQuery?: OnQuery;
}

export interface Database {
  readonly pool: Pool;
  readonly schema: string;
  /** The servers of the URL, and which of them we use. */
  readonly hosts: HostList;
  /** The server ends a transaction in which nothing happens for so long, milliseconds. */
  readonly idleInTransactionMs: number;
  /** Lends one client. A failure of `work` destroys the client. Throws IndexerErrors only. */
  withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** `work` between BEGIN and COMMIT; rolled back when it fails. After an error assume neither commit nor rollback. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Waits for lent clients (milliseconds, default 5000), then cuts every connection. Never rejects; may be called twice. */
  close(limitMs?: number): Promise<void>;
}

/**
 * Prepares a pool; connects only when a client is asked for.
 * @throws IndexerError `STORE_URL_INVALID` when the URL cannot be used
 */
export function openDatabase(options: DatabaseOptions): Database {
  refuseMisread(options.url, options.schema);
  refuseUnusableUrl(options.url);
  const sockets = new Set<Socket>();
  const hosts = new HostList(options.url, options.urlFile);
  const { idleInTransactionMs = idleInTransactionLimitMs } = options;
  const pool = new Pool(poolConfig({ ...options, idleInTransactionMs }, hosts, sockets));
  // Idle clients report their death here; without a listener it would end the process. The next query reconnects.
  pool.on('error', ignore);
  const closing = new AbortController();
  // Each caller that waits for a client is one, and any number may wait.
  setMaxListeners(0, closing.signal);

  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await lendCurrent(pool, hosts, closing.signal);
    const met = hosts.moves;
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(true);
      const failure = toStoreError(error);
      // A server that became a standby keeps its connections; one that is gone is met by whoever connects next.
      if (failure.code === 'STORE_READ_ONLY') hosts.moveOn(failure, met);
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
      closing.abort();
      return (closed ??= closePool(pool, sockets, limitMs));
    },
  };
}

/**
 * The same pool, of which `most` connections are lent at once: who else shares it keeps the rest. Closed with the pool.
 */
export function shareOf(database: Database, most: number): Database {
  const waiting: (() => void)[] = [];
  let free = most;
  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await database.withClient(work);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
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

/** The same pool with a shorter limit of one statement, milliseconds. */
export function withinTime(database: Database, statementMs: number): Database {
  const transaction = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    database.transaction(async (client) => {
      await client.query(`set local statement_timeout = ${String(statementMs)}`);
      return work(client);
    });
  return { ...database, withClient: transaction, transaction };
}

/** A client of the current host. Each host is tried once; idle clients of a host that was left are ended. */
async function lendCurrent(pool: Pool, hosts: HostList, closing: AbortSignal): Promise<PoolClient> {
  for (let tried = 1; ;) {
    const met = hosts.moves;
    try {
      const client = await lend(pool, closing);
      if (hosts.isCurrent(client)) return client;
      client.release(true);
    } catch (thrown) {
      const error = toStoreError(thrown);
      if (!hosts.moveOn(error, met)) throw error;
      // A password that was changed says nothing about the host.
      if (error.code !== 'STORE_PASSWORD_REFUSED') tried += 1;
      if (tried > hosts.count) throw error;
    }
  }
}

/** The pool forgets who waits for a client when it ends; here they are refused at once. */
function lend(pool: Pool, closing: AbortSignal): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(closedError());
    if (closing.aborted) return refuse();
    closing.addEventListener('abort', refuse, { once: true });
    pool.connect().then(
      (client) => {
        closing.removeEventListener('abort', refuse);
        return closing.aborted ? client.release(true) : resolve(client);
      },
      (error: unknown) => {
        closing.removeEventListener('abort', refuse);
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
    // The server answers COMMIT of an aborted transaction with ROLLBACK and no error.
    if (command !== 'COMMIT') throw commitRefused(command);
    return result;
  } catch (error) {
    await rollBack(client);
    throw error;
  }
}

/** Frees the locks of a failed transaction before somebody tries again. Never rejects: a dead connection needs none. */
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
    types: exactTypes,
    ...(options.oneUse === undefined ? {} : { maxUses: 1 }),
    stream: () => trackedSocket(sockets, options.oneUse?.mostBytes),
    onConnect: sessionSetup(options, hosts.count > 1),
  };
}

/** The driver's client, for the host that is current when it is made. */
function clientOf(hosts: HostList, onQuery: OnQuery | undefined): new (config?: ClientConfig) => Client {
  return class extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: hosts.url() });
      guardPassword(this);
      hosts.note(this);
      if (onQuery !== undefined) timeQueries(this, onQuery);
    }
  };
}

/** Own sockets are the only public way to end a connection that no longer answers. */
function trackedSocket(sockets: Set<Socket>, mostBytes: number | undefined): Socket {
  const socket = new Socket();
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  if (mostBytes !== undefined) cutBeyond(socket, mostBytes);
  return socket;
}

/** The driver keeps a row until all of it is there, however large: what comes has to be counted beside it. */
function cutBeyond(socket: Socket, mostBytes: number): void {
  const watch = setInterval(() => {
    if (socket.bytesRead > mostBytes) socket.destroy(answerTooLarge(mostBytes));
  }, 20).unref();
  socket.once('close', () => clearInterval(watch));
}

function answerTooLarge(mostBytes: number): IndexerError {
  return new IndexerError(`the answer is larger than ${String(mostBytes / 1024 / 1024)} MiB`, {
    code: 'QUERY_REFUSED',
    remedy: 'ask for fewer rows, or for less of each',
  });
}

/** Returns `unknown` because the driver awaits the promise but declares it as void. */
function sessionSetup(options: PoolOptions, primaryOnly: boolean): (client: ClientBase) => unknown {
  const { schema, statementTimeoutMs, idleInTransactionMs } = options;
  const lockTimeoutMs = Math.min(lockLimitMs, statementTimeoutMs);
  const limits = { statementTimeoutMs, lockTimeoutMs, idleInTransactionMs, idleSessionMs: 0 };
  const setUp = setUpQuery(sessionSettings(schema, limits), `${isReadOnly} as read_only`, `${hasCitus} as citus`);
  return (client) => {
    // The pool's own listener is absent while a client is lent: the death of a lent client must not end the process.
    client.on('error', ignore);
    return client.query<SessionFacts>(setUp.text, setUp.values).then(({ rows: [facts] }) => {
      if (primaryOnly) refuseReadOnly(facts?.read_only === true);
      return facts?.citus === true ? client.query(planDistributed) : undefined;
    });
  };
}

interface SessionFacts {
  readonly read_only: boolean;
  readonly citus: boolean;
}

/** SQL: true on a standby, and where nothing may be written by default. */
export const isReadOnly = `(pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean)`;

/** With several hosts, one that takes no writes is not the one that is meant. @throws IndexerError STORE_READ_ONLY */
export function refuseReadOnly(readOnly: boolean): void {
  if (!readOnly) return;
  throw new IndexerError('Postgres accepts no writes: this host is a standby, or set to read-only', {
    code: 'STORE_READ_ONLY',
    remedy: 'name the primary among the hosts of DATABASE_URL, or promote one of them',
  });
}

async function closePool(pool: Pool, sockets: ReadonlySet<Socket>, limitMs: number): Promise<void> {
  const ended = pool.end().catch(ignore);
  if (await settlesWithin(ended, limitMs)) return;
  for (const socket of sockets) socket.destroy();
  await settlesWithin(ended, 1_000);
}

async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const settled = await Promise.race([promise.then(() => true), limit]);
  clearTimeout(timer);
  return settled;
}

function refuseUnusableUrl(url: string): void {
  const unusable = urlsOf(url).map(unusableUrlFile).find(Boolean);
  if (unusable !== undefined) {
    throw new IndexerError(`the database URL names a certificate file that cannot be used: ${unusable}`, {
      code: 'STORE_URL_INVALID',
      remedy: `correct sslrootcert, sslcert or sslkey in the URL: each is ${smallFileExpected}`,
    });
  }
  try {
    // The constructor parses the URL and reads the certificates it names; it does not connect.
    for (const connectionString of urlsOf(url)) void new Client({ connectionString });
  } catch (thrown) {
    // The driver's error holds the URL and with it the password: it is neither shown nor kept as a cause.
    const file = unreadableFile(thrown);
    if (file === undefined) throw misread();
    throw new IndexerError(`the database URL names a certificate file that cannot be read: ${file}`, {
      code: 'STORE_URL_INVALID',
      remedy: 'correct sslrootcert, sslcert or sslkey in the URL, and let this process read the file',
    });
  }
}

/** The path and why, when an error is one of a file. */
function unreadableFile(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { path, code, syscall } = thrown as NodeJS.ErrnoException;
  return path === undefined || syscall === undefined ? undefined : `${path} (${code ?? 'no reason given'})`;
}

function ignore(): void {}

// How values of the server become values here; differs from the driver's own way for int8, which must stay exact.

const int8 = 20;
const int8Array = 1016;
/** The driver's table without its closed list of type numbers: the server sends types that the list does not know. */
const driverParser = types.getTypeParser as (oid: number, format?: 'text' | 'binary') => (text: string) => unknown;

/** int8 as a number while that is exact, else as a bigint; everything else as the driver does it. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  if (format !== 'binary' && oid === int8) return parseInt8;
  if (format !== 'binary' && oid === int8Array) return parseInt8Array;
  return driverParser(oid, format);
}

/** int8 exactly; everything else as the driver does it. Changes nothing for other users of the driver. */
const exactTypes: CustomTypesConfig = { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };

function parseInt8(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

function parseInt8Array(text: string): unknown {
  const entries = driverParser(int8Array)(text) as readonly (string | null)[];
  return entries.map((entry) => (entry === null ? null : parseInt8(entry)));
}
