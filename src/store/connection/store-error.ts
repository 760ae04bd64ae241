/**
 * Translates exceptions of Postgres and its driver into IndexerErrors. SQLSTATE and errno determine the error code. The
 * message text is written here. The server's message, detail and context are dropped, because they can quote row
 * contents. For the same reason the original is not kept as a cause, because loggers print causes.
 */
import { DatabaseError } from 'pg';
import { catalogue, type StoreErrorCode } from '../../errors/catalogue.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { isTlsErrno } from '../../errors/tls-errno.ts';

/**
 * SQLSTATEs, or the beginnings of SQLSTATEs, with the code of each. The first match applies, so exact SQLSTATEs come
 * before their class.
 */
const rules: readonly (readonly [sqlstates: readonly string[], code: StoreErrorCode])[] = [
  [['53100', '58030'], 'STORE_FULL'],
  [['53300'], 'STORE_TOO_MANY_CONNECTIONS'],
  [['53'], 'STORE_OUT_OF_RESOURCES'],
  [['40001', '40P01', '40003'], 'STORE_CONFLICT'],
  [['55P03'], 'STORE_LOCKED'],
  [['57014'], 'STORE_STATEMENT_TIMEOUT'],
  [['25P03', '57P05'], 'STORE_SESSION_TIMEOUT'],
  [['25006'], 'STORE_READ_ONLY'],
  [['25P02', '40'], 'STORE_TRANSACTION_ABORTED'],
  [['3D000', '57P04'], 'STORE_DATABASE_MISSING'],
  [['08', '57P'], 'STORE_UNREACHABLE'],
  // A prepared statement that is missing on the connection that prepared it, or exists on a new connection.
  [['26000', '42P05'], 'STORE_POOLER_UNSUPPORTED'],
  [['22', '54'], 'STORE_DATA_REFUSED'],
  [['23505'], 'STORE_DUPLICATE'],
  [['23'], 'STORE_CONSTRAINT'],
  [['42501'], 'STORE_NOT_PERMITTED'],
  [['42', '3F000'], 'STORE_SCHEMA_MISMATCH'],
  [['28P01'], 'STORE_PASSWORD_REFUSED'],
  [['28'], 'STORE_LOGIN_REFUSED'],
];

/**
 * Messages of Citus about a worker that does not respond. Their SQLSTATE is the one for a broken connection, a disk
 * error or an internal error. The last patterns are messages of the worker's server and its client library, which COPY
 * passes on without their SQLSTATE.
 */
const workerLost = new RegExp(
  '^(?:connection to the remote node |failure on connection marked as essential|failed to (?:complete )?COPY (?:on|to shard) ' +
    '|could not establish any connections to the node |SSL SYSCALL error|server closed the connection unexpectedly' +
    '|could not receive data from server|connection not open|no active placements were found' +
    '|terminating connection |the database system is )',
);
const citusHidesIn: ReadonlySet<string> = new Set(['XX000', '58030', '08006', '08000', '08001']);
/** Matches the host and port of a worker, and no other part of the message. */
const workerName = /^[^:]*?(?:node (?:[^@\s]*@)?| on |essential: )([\w.-]{1,253}:\d{1,5})(?!\S)/;

/** Messages of Citus about a statement that it cannot plan. Postgres uses none of these texts under this SQLSTATE. */
const workersRefusedPattern = new RegExp(
  '^(?:complex joins are only supported|direct joins between|could not (?:create|run) distributed |cannot perform (?:distributed planning|a lateral outer join)' +
    '|cannot push ?down |correlated subqueries are not supported|(?:data-modifying|multi-shard|modifying|multi-row) |subqueries (?:are|in) ' +
    '|(?:STABLE )?functions used in |cannot execute a distributed query|modification of )',
  'i',
);

/** Messages of the driver's errors without a code when a connection is lost, frozen or not obtained. */
const driverDisconnectPattern = /terminated|not queryable|timeout|connection|after calling end/i;
const errnoGone = /^E(?!RR_)[A-Z_]+$/;

/**
 * Converts any exception of a query, a client or the pool to an IndexerError. IndexerErrors are returned unchanged. Any
 * other exception, which comes neither from Postgres nor from its driver, is a bug and fatal. Facts: `sqlstate`,
 * `table`, `constraint`, `column` or `errno`.
 */
export function toStoreError(thrown: unknown): IndexerError {
  if (thrown instanceof IndexerError) return thrown;
  if (thrown instanceof DatabaseError) return fromServer(thrown);
  if (!(thrown instanceof Error)) return toIndexerError(thrown);
  const errno = text(thrown, 'code');
  if (errno !== undefined && isTlsErrno(errno)) return tlsFailure(errno);
  if (errno !== undefined && errnoGone.test(errno)) return unreachableError(thrown, errno);
  // Subclasses (TypeError, RangeError …) are bugs of the indexer, never connection errors of the driver.
  if (errno !== undefined || thrown.name !== 'Error') return toIndexerError(thrown);
  return fromDriver(thrown);
}

/**
 * The error for a value that is refused before it is sent, with the SQLSTATE class that Postgres uses for invalid
 * values.
 * @param problem description of the value, not the value itself
 */
export function dataRefused(table: string, problem: string): IndexerError {
  return new IndexerError(`a value of table ${table} cannot be stored: ${problem}`, {
    code: 'STORE_DATA_REFUSED',
    facts: { table },
  });
}

function fromServer(error: DatabaseError): IndexerError {
  const sqlstate = error.code ?? '';
  if (citusHidesIn.has(sqlstate) && workerLost.test(error.message)) return workerError(error.message, sqlstate);
  if (sqlstate === '0A000' && workersRefusedPattern.test(error.message)) return notDistributedError(sqlstate);
  if (sqlstate === '0A000' && error.routine === 'DoCopy') return rowSecurityError();
  if (sqlstate === '54000') {
    const limit = fromLimit(error);
    if (limit !== undefined) return limit;
  }
  if (sqlstate === '28000' && unencryptedPattern.test(error.message)) return encryptionRequired();
  if (error.severity === 'FATAL' && poolerStates.has(sqlstate)) return connectionRefused(sqlstate);
  const code = codeOf(error, sqlstate);
  const database = code === 'STORE_DATABASE_MISSING' ? missingDatabase.exec(error.message)?.[1] : undefined;
  if (database !== undefined) return databaseMissing(database, sqlstate);
  const locations = [
    sqlstate === '42501' ? deniedObject(error.message) : undefined,
    error.table === undefined ? undefined : `table ${error.table}`,
    error.constraint === undefined ? undefined : `constraint ${error.constraint}`,
  ].filter((location) => location !== undefined);
  const facts: Record<string, string> = { sqlstate };
  if (error.table !== undefined) facts['table'] = error.table;
  if (error.constraint !== undefined) facts['constraint'] = error.constraint;
  const column = copyErrorPattern.exec(error.where ?? '')?.[1];
  if (column !== undefined) facts['column'] = column;
  return new IndexerError(`${catalogue[code].meaning} (${[`SQLSTATE ${sqlstate}`, ...locations].join(', ')})`, {
    code,
    facts,
  });
}

function codeOf(error: DatabaseError, sqlstate: string): StoreErrorCode {
  if (isCatalogConflict(error)) return 'STORE_CONFLICT';
  return rules.find(([starts]) => starts.some((start) => sqlstate.startsWith(start)))?.[1] ?? 'STORE_FAILED';
}

/**
 * Whether another session changed the same row of the catalog at the same time, such as the rights on a table. Postgres
 * reports this as an internal error, whose message depends on the language of the server.
 */
export function isCatalogConflict({ code, routine = '' }: DatabaseError): boolean {
  return code === 'XX000' && ['simple_heap_update', 'simple_heap_delete'].includes(routine);
}

/**
 * Context of an error that occurs while Postgres parses a COPY value for its column. If the error occurs later, the
 * context contains only the line.
 */
const copyErrorPattern = /^COPY \S{1,130}, line \d+, column (\w{1,63})$/;

/** Matches the English message. If the server uses another message language, our message does not name the database. */
const missingDatabase = /^database "([^"]{1,63})" does not exist$/;

function databaseMissing(name: string, sqlstate: string): IndexerError {
  const remedy = urlMistakeOf(name);
  return new IndexerError(`${catalogue.STORE_DATABASE_MISSING.meaning} ("${name}", SQLSTATE ${sqlstate})`, {
    code: 'STORE_DATABASE_MISSING',
    ...(remedy === undefined ? {} : { remedy }),
    facts: { sqlstate },
  });
}

function urlMistakeOf(name: string): string | undefined {
  if (name.endsWith('/')) return `remove the slash at the end of the URL: it is read as part of the name "${name}"`;
  if (name === name.toLowerCase()) return undefined;
  return `names in Postgres are case-sensitive: if it is called "${name.toLowerCase()}", write it so; otherwise create it`;
}

/**
 * Kinds and names of objects in messages of Postgres about missing rights: these errors have no field for the object.
 * Names may appear in logs, because they are not row contents.
 */
const denials: readonly RegExp[] = [
  /^permission denied for ((?:[a-z]+ ){1,3}\S{1,130})$/,
  /^must be (owner of (?:[a-z]+ ){1,3}\S{1,130})$/,
  /^permission denied to ((?:create|alter|drop) role|grant role "[^"]{1,63}")$/,
  /^new row violates row-level security policy for (table "[^"]{1,63}")$/,
];

/** The object or action that the role lacks rights for; undefined if the server uses another message language. */
function deniedObject(message: string): string | undefined {
  for (const denialPattern of denials) {
    const [, object] = denialPattern.exec(message) ?? [];
    if (object !== undefined) return object.replaceAll('"', '');
  }
  return undefined;
}

/**
 * Errors caused by server limits and not by the data. They are recognized by the Postgres routine that raised them,
 * because messages are in the language of the server. The name of an index is not content.
 */
function fromLimit({ routine = '', schema, table, constraint }: DatabaseError): IndexerError | undefined {
  if (rowOfIndex.test(routine)) {
    const constraintName = constraint === undefined || schema === undefined ? undefined : `${schema}.${constraint}`;
    return new IndexerError(
      `${catalogue.STORE_INDEX_LIMIT.meaning} (${constraintName ?? 'not named'}, SQLSTATE 54000)`,
      {
        code: 'STORE_INDEX_LIMIT',
        ...(constraintName === undefined
          ? {}
          : { remedy: `run \`drop index concurrently ${constraintName}\`; ${indexRemedy}` }),
        facts: {
          sqlstate: '54000',
          ...(table === undefined ? {} : { table }),
          ...(constraintName === undefined ? {} : { index: constraintName }),
        },
      },
    );
  }
  if (!/^GetNew(?:Transaction|MultiXact)Id$/.test(routine)) return undefined;
  const { meaning } = catalogue.STORE_WRAPAROUND;
  return new IndexerError(`${meaning} (SQLSTATE 54000)`, { code: 'STORE_WRAPAROUND', facts: { sqlstate: '54000' } });
}

const rowOfIndex =
  /^(?:_bt_check_third_page|index_form_tuple(?:_context)?|GinFormTuple|spgdoinsert|_hash_doinsert|gistSplit)$/;
const indexRemedy =
  '`ledger-indexer index create` makes one that accepts any length; the indexer resumes automatically';

/**
 * The end of the Postgres message for a login without encryption that no line of pg_hba.conf allows. The text differs
 * before version 14 and since.
 */
const unencryptedPattern = /, (?:no encryption|SSL off)$/;

function encryptionRequired(): IndexerError {
  return new IndexerError('Postgres refuses the login without encryption (SQLSTATE 28000)', {
    code: 'STORE_LOGIN_REFUSED',
    remedy:
      'write sslmode=verify-full into the database URL, with sslrootcert=FILE for an authority of your own; or allow this host, ' +
      'user and database in a `host` line of pg_hba.conf',
    facts: { sqlstate: '28000' },
  });
}

/**
 * SQLSTATEs that poolers send if a server is unreachable or a limit of the pooler is reached, during a session or
 * before it exists.
 */
const poolerStates: ReadonlySet<string> = new Set(['XX000', '58000']);

function connectionRefused(sqlstate: string): IndexerError {
  const { meaning } = catalogue.STORE_UNREACHABLE;
  return new IndexerError(`${meaning} (SQLSTATE ${sqlstate})`, { code: 'STORE_UNREACHABLE', facts: { sqlstate } });
}

function workerError(message: string, sqlstate: string): IndexerError {
  const worker = workerName.exec(message)?.[1];
  const workerLabel = worker === undefined ? '' : `${worker}, `;
  return new IndexerError(`${catalogue.STORE_WORKER_LOST.meaning} (${workerLabel}SQLSTATE ${sqlstate})`, {
    code: 'STORE_WORKER_LOST',
    facts: { sqlstate, ...(worker === undefined ? {} : { worker }) },
  });
}

function notDistributedError(sqlstate: string): IndexerError {
  const { meaning } = catalogue.STORE_WORKERS_REFUSED;
  return new IndexerError(`${meaning} (SQLSTATE ${sqlstate})`, { code: 'STORE_WORKERS_REFUSED', facts: { sqlstate } });
}

/** Postgres refuses COPY into a table with row-level security, unless the role owns the table or has BYPASSRLS. */
export function rowSecurityError(): IndexerError {
  return new IndexerError(
    'the role may not write into tables with row-level security: it neither owns them nor has BYPASSRLS (SQLSTATE 0A000)',
    {
      code: 'STORE_NOT_PERMITTED',
      remedy:
        'run `ledger-indexer grant-roles` as an administrator, which grants BYPASSRLS or says why it cannot; or let the indexer connect as the owner of the tables',
      facts: { sqlstate: '0A000' },
    },
  );
}

function fromDriver(error: Error): IndexerError {
  if (error.message.startsWith('SASL')) {
    return new IndexerError('the login failed: the password is missing or wrong', {
      code: 'STORE_PASSWORD_REFUSED',
    });
  }
  if (/SSL/.test(error.message)) return tlsFailure(error.message);
  if (!driverDisconnectPattern.test(error.message)) return toIndexerError(error);
  return new IndexerError(`the connection to Postgres is gone: ${error.message}`, {
    code: 'STORE_UNREACHABLE',
    remedy: 'check that the server is up and reachable; the indexer reconnects automatically',
  });
}

function unreachableError(error: Error, errno: string): IndexerError {
  // If a name has several addresses and connecting fails, the error contains one inner error per address.
  const innerError: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const source = innerError instanceof Error ? innerError : error;
  const host = text(source, 'address') ?? text(source, 'hostname');
  const port = text(source, 'port');
  const address = [host, port].filter((component) => component !== undefined).join(':');
  return new IndexerError(`Postgres cannot be reached${address === '' ? '' : ` at ${address}`} (${errno})`, {
    code: 'STORE_UNREACHABLE',
    remedy: 'check host, port and network; the indexer reconnects automatically',
    facts: { errno },
  });
}

function tlsFailure(reason: string): IndexerError {
  const remedy = tlsRemedies.find(([reasons]) => reasons.test(reason))?.[1];
  return new IndexerError(`no secure connection to Postgres: ${reason}`, {
    code: 'STORE_TLS_REFUSED',
    ...(remedy === undefined ? {} : { remedy }),
  });
}

const tlsRemedies: readonly (readonly [reasons: RegExp, remedy: string])[] = [
  [
    /does not support SSL/,
    'set `ssl = on` in Postgres, or write sslmode=disable into the database URL where the network is trusted: ' +
      'here `prefer` and `require` are taken as `verify-full`, and nothing falls back to plain text',
  ],
  [
    /ALTNAME/,
    'connect by a name that the certificate of the server has, or give the server a certificate with the name in the database URL',
  ],
  [
    /^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|CERT_)/,
    'write sslrootcert=FILE with the authority of the certificate into the database URL, or sslmode=no-verify to take any certificate: ' +
      '`prefer` and `require` are taken as `verify-full`',
  ],
];

function text(error: Error, field: string): string | undefined {
  const value: unknown = Reflect.get(error, field);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
