/**
 * Translates what Postgres and its driver throw into IndexerErrors: SQLSTATE and errno decide what may be done about
 * it. The text is ours: the server's message, detail and context can quote row contents and are dropped, which is also
 * why the original is not kept as a cause (loggers print causes).
 */
import { DatabaseError } from 'pg';
import { ExitCode, IndexerError, toIndexerError } from '../errors.ts';
import type { RetryClass } from '../errors.ts';

interface Rule {
  /** A SQLSTATE or the beginning of one. */
  readonly sqlstates: readonly string[];
  readonly code: string;
  readonly retry: RetryClass;
  readonly exitCode: ExitCode;
  readonly found: string;
  readonly remedy: string;
}

const { temporary, unreachable, undecodable, notPermitted, configuration, unexpected } = ExitCode;
const automatic = 'it is tried again from the checkpoint';

/** The first rule that matches holds, so exact codes stand before their class. */
const rules: readonly Rule[] = [
  rule(
    ['53100', '58030'],
    'STORE_FULL',
    'retry',
    temporary,
    'Postgres cannot write to its disk',
    'free or add disk space; the indexer goes on by itself',
  ),
  rule(
    ['53300'],
    'STORE_TOO_MANY_CONNECTIONS',
    'retry',
    temporary,
    'Postgres has no connection left',
    'raise max_connections or the limit of the role',
  ),
  rule(
    ['53'],
    'STORE_OUT_OF_RESOURCES',
    'retry',
    temporary,
    'Postgres is out of memory or another resource',
    'give the server more resources',
  ),
  rule(
    ['40001', '40P01', '40003'],
    'STORE_CONFLICT',
    'retry',
    temporary,
    'another transaction was in the way',
    automatic,
  ),
  rule(
    ['55P03'],
    'STORE_LOCKED',
    'retry',
    temporary,
    'a lock was not granted in time',
    'look in pg_locks for who holds it',
  ),
  rule(
    ['57014'],
    'STORE_STATEMENT_TIMEOUT',
    'retry',
    temporary,
    'a statement was cancelled or took too long',
    'if it repeats, see pg_stat_activity and pg_blocking_pids() for what it waits for, or raise POSTGRES_STATEMENT_TIMEOUT',
  ),
  rule(['25P03', '57P05'], 'STORE_SESSION_TIMEOUT', 'retry', temporary, 'Postgres ended an idle session', automatic),
  rule(
    ['25006'],
    'STORE_READ_ONLY',
    'retry',
    temporary,
    'Postgres accepts no writes (a standby, or set to read-only)',
    'point the URL at the primary server',
  ),
  rule(['25P02', '40'], 'STORE_TRANSACTION_ABORTED', 'retry', temporary, 'the transaction was aborted', automatic),
  rule(
    ['3D000', '57P04'],
    'STORE_DATABASE_MISSING',
    'park',
    configuration,
    'the database does not exist',
    'create it or correct the URL',
  ),
  rule(
    ['08', '57P'],
    'STORE_UNREACHABLE',
    'retry',
    unreachable,
    'Postgres ended or refused the connection',
    'check that the server is up',
  ),
  rule(
    // A prepared statement unknown where it was prepared, or known where it was not.
    ['26000', '42P05'],
    'STORE_POOLER',
    'park',
    configuration,
    'a pooler swapped the server session',
    'use a session-mode pooler or connect directly',
  ),
  rule(
    ['22', '54'],
    'STORE_DATA_REFUSED',
    'park',
    undecodable,
    'Postgres refused a value',
    'report the update at this offset; the column cannot hold it',
  ),
  rule(
    ['23505'],
    'STORE_DUPLICATE',
    'retry',
    unexpected,
    'a row with this key exists already',
    'it is tried again from the checkpoint; if it repeats, the update is searched for and named',
  ),
  rule(
    ['23'],
    'STORE_CONSTRAINT',
    'park',
    undecodable,
    'a row breaks a constraint',
    'report the update at this offset',
  ),
  rule(
    ['42501'],
    'STORE_NOT_PERMITTED',
    'park',
    notPermitted,
    'the role may not do this',
    'grant the role its rights on the schema',
  ),
  rule(
    ['42', '3F000'],
    'STORE_SCHEMA',
    'park',
    configuration,
    'the tables are not as this program expects',
    'run `ledger-indexer migrate` and undo manual changes',
  ),
  rule(
    ['28P01'],
    'STORE_PASSWORD_REFUSED',
    'retry',
    notPermitted,
    'Postgres refused the password',
    'check user and password in the database URL; a password being rotated is tried for five minutes',
  ),
  rule(
    ['28'],
    'STORE_LOGIN_REFUSED',
    'park',
    notPermitted,
    'Postgres refused the login',
    'check user, password and pg_hba.conf',
  ),
];
const fallback = rule(
  [],
  'STORE_FAILED',
  'park',
  unexpected,
  'Postgres reported a failure',
  'look it up in the log of Postgres',
);

/** What the driver says in plain Errors without a code when a connection is gone, frozen or not obtained. */
const driverSaysGone = /terminated|not queryable|timeout|connection|after calling end/i;
const errnoGone = /^E(?!RR_)[A-Z_]+$/;
const tlsRefused = /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO|SIGNATURE/;

/**
 * Anything thrown by a query, a client or the pool, as an IndexerError. IndexerErrors pass through; what comes neither
 * from Postgres nor from its driver is a defect and fatal. Facts: `sqlstate`, `table`, `constraint` or `errno`.
 */
export function toStoreError(thrown: unknown): IndexerError {
  if (thrown instanceof IndexerError) return thrown;
  if (thrown instanceof DatabaseError) return fromServer(thrown);
  if (!(thrown instanceof Error)) return toIndexerError(thrown);
  const errno = text(thrown, 'code');
  if (errno !== undefined && tlsRefused.test(errno)) return tlsFailure(errno);
  if (errno !== undefined && errnoGone.test(errno)) return unreachableAt(thrown, errno);
  // Subclasses (TypeError, RangeError …) are defects of the program, never the driver's word about a connection.
  if (errno !== undefined || thrown.name !== 'Error') return toIndexerError(thrown);
  return fromDriver(thrown);
}

/** A value refused before it was sent, with the class of one that Postgres refuses. @param found what it is, not the value */
export function dataRefused(table: string, found: string): IndexerError {
  return new IndexerError(`a value of table ${table} cannot be stored: ${found}`, {
    code: 'STORE_DATA_REFUSED',
    retry: 'park',
    exitCode: undecodable,
    remedy: 'report the update at this offset; the column cannot hold it',
    facts: { table },
  });
}

function fromServer(error: DatabaseError): IndexerError {
  const sqlstate = error.code ?? '';
  const matching = rules.find((candidate) => candidate.sqlstates.some((start) => sqlstate.startsWith(start)));
  const { code, retry, exitCode, found, remedy } = matching ?? fallback;
  const where = [
    error.table === undefined ? undefined : `table ${error.table}`,
    error.constraint === undefined ? undefined : `constraint ${error.constraint}`,
  ].filter((part) => part !== undefined);
  const facts: Record<string, string> = { sqlstate };
  if (error.table !== undefined) facts['table'] = error.table;
  if (error.constraint !== undefined) facts['constraint'] = error.constraint;
  return new IndexerError(`${found} (${[`SQLSTATE ${sqlstate}`, ...where].join(', ')})`, {
    code,
    retry,
    exitCode,
    remedy,
    facts,
  });
}

function fromDriver(error: Error): IndexerError {
  if (error.message.startsWith('SASL')) {
    return new IndexerError('the login failed: the password is missing or not what the server expects', {
      code: 'STORE_PASSWORD_REFUSED',
      retry: 'retry',
      exitCode: notPermitted,
      remedy: 'check user and password in the database URL; a password being rotated is tried for five minutes',
    });
  }
  if (/SSL/.test(error.message)) return tlsFailure(error.message);
  if (!driverSaysGone.test(error.message)) return toIndexerError(error);
  return new IndexerError(`the connection to Postgres is gone: ${error.message}`, {
    code: 'STORE_UNREACHABLE',
    retry: 'retry',
    exitCode: unreachable,
    remedy: 'check that the server is up and reachable; the indexer reconnects by itself',
  });
}

function unreachableAt(error: Error, errno: string): IndexerError {
  // A name with several addresses fails with one error per address inside.
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const source = inner instanceof Error ? inner : error;
  const host = text(source, 'address') ?? text(source, 'hostname');
  const port = text(source, 'port');
  const place = [host, port].filter((part) => part !== undefined).join(':');
  return new IndexerError(`Postgres cannot be reached${place === '' ? '' : ` at ${place}`} (${errno})`, {
    code: 'STORE_UNREACHABLE',
    retry: 'retry',
    exitCode: unreachable,
    remedy: 'check host, port and network; the indexer reconnects by itself',
    facts: { errno },
  });
}

function tlsFailure(reason: string): IndexerError {
  return new IndexerError(`no secure connection to Postgres: ${reason}`, {
    code: 'STORE_TLS_REFUSED',
    retry: 'park',
    exitCode: configuration,
    remedy: 'check sslmode and sslrootcert in the database URL and the certificate of the server',
  });
}

function rule(
  sqlstates: readonly string[],
  code: string,
  retry: RetryClass,
  exitCode: ExitCode,
  found: string,
  remedy: string,
): Rule {
  return { sqlstates, code, retry, exitCode, found, remedy };
}

function text(error: Error, field: string): string | undefined {
  const value: unknown = Reflect.get(error, field);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
