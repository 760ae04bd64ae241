/** Error codes of Postgres and of the stored data. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const storeCodes = {
  STORE_FULL: kind(
    'retry',
    ExitCode.temporary,
    'Postgres cannot write to its disk',
    'free or add disk space; the indexer resumes automatically',
  ),
  STORE_WORKER_LOST: kind(
    'retry',
    ExitCode.unreachable,
    'a Citus worker does not respond',
    'start the worker named in the message; the indexer retries from the checkpoint',
  ),
  STORE_WORKERS_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'Citus cannot run a statement of this command on its workers',
    'keep the history as it is, or index it again into another schema with the requested settings',
  ),
  STORE_TOO_MANY_CONNECTIONS: kind(
    'retry',
    ExitCode.temporary,
    'Postgres has no connection left',
    'raise max_connections or the connection limit of the role',
  ),
  STORE_OUT_OF_RESOURCES: kind(
    'retry',
    ExitCode.temporary,
    'Postgres is out of memory or another resource',
    'give the server more memory or the missing resource',
  ),
  STORE_CONFLICT: kind(
    'retry',
    ExitCode.temporary,
    'a conflict with another transaction',
    'no action needed: the indexer retries from the checkpoint',
  ),
  STORE_LOCKED: kind(
    'retry',
    ExitCode.temporary,
    'a lock was not granted in time',
    'query pg_locks for the session that holds it',
  ),
  // If a single update takes too long, the indexer cannot know whether the update or the server is the cause.
  STORE_STATEMENT_TIMEOUT: kind(
    'retry',
    ExitCode.temporary,
    'a statement was cancelled or took too long',
    'if it repeats, query pg_stat_activity and pg_blocking_pids() for the session it waits for, or raise POSTGRES_STATEMENT_TIMEOUT',
    { times: 5, named: true },
  ),
  STORE_SESSION_TIMEOUT: kind(
    'retry',
    ExitCode.temporary,
    'Postgres ended an idle session',
    'no action needed: the indexer retries from the checkpoint',
  ),
  STORE_READ_ONLY: kind(
    'retry',
    ExitCode.temporary,
    'Postgres accepts no writes (a standby, or set to read-only)',
    'point the URL at the primary server; if it is the primary, run `ledger-indexer check` as this role: it names the setting to change',
  ),
  STORE_TRANSACTION_ABORTED: kind(
    'retry',
    ExitCode.temporary,
    'the transaction was aborted',
    'no action needed: the indexer retries from the checkpoint',
  ),
  STORE_DATABASE_MISSING: kind(
    'park',
    ExitCode.configuration,
    'the database does not exist',
    'create the database or correct the URL',
  ),
  STORE_UNREACHABLE: kind(
    'retry',
    ExitCode.unreachable,
    'Postgres, or a pooler in front of it, ended or refused the connection',
    'check that the server runs, and read the log of the pooler if there is one',
  ),
  STORE_POOLER_UNSUPPORTED: kind(
    'park',
    ExitCode.configuration,
    'a pooler swapped the server session',
    'use a session-mode pooler or connect directly',
  ),
  STORE_DATA_REFUSED: kind(
    'park',
    ExitCode.undecodable,
    'Postgres rejected a value',
    'report the update at this offset: its value does not fit the column',
  ),
  // An operator has added the index for reads. No index of the tables themselves limits the length of a value.
  STORE_INDEX_LIMIT: kind(
    'retry',
    ExitCode.temporary,
    'a value is too long for an index',
    "drop the index: `select indexrelid::regclass from pg_index where indrelid = 'ledger.contracts'::regclass` lists the indexes of a table, " +
      'and `ledger-indexer index create` creates one without a length limit; the indexer resumes automatically',
  ),
  STORE_WRAPAROUND: kind(
    'retry',
    ExitCode.temporary,
    'Postgres has used up its transaction ids',
    'end the oldest entries of pg_stat_activity, pg_prepared_xacts and pg_replication_slots, then run `vacuum` in the database with the ' +
      'highest age: `select datname, age(datfrozenxid) from pg_database order by 2 desc`; the indexer resumes automatically',
  ),
  // Used if the duplicate key could not be determined. The error still names the update.
  STORE_DUPLICATE: kind(
    'retry',
    ExitCode.unexpected,
    'a row with this key already exists',
    'no action needed: the indexer retries from the checkpoint and, if it repeats, searches for the update and names it',
    { times: 5, named: true },
  ),
  // Ledger data cannot violate the built-in rules. The violated rule is reported when the update is written alone.
  STORE_CONSTRAINT: kind(
    'park',
    ExitCode.undecodable,
    'a constraint, index or trigger rejects a row',
    'drop the constraint, index or trigger in the message: it was added by hand; ledger data cannot violate the built-in ones',
  ),
  STORE_NOT_PERMITTED: kind(
    'park',
    ExitCode.notPermitted,
    'the role may not do this',
    'run `ledger-indexer grant-roles` as the owner of the database; run `ledger-indexer check` as this role to see the missing rights',
  ),
  STORE_SCHEMA_MISMATCH: kind(
    'park',
    ExitCode.configuration,
    'the tables differ from the schema of this version',
    'run `ledger-indexer migrate` and undo manual changes',
  ),
  // Temporary: a password may be rotated on the server first and in the configuration afterwards, or vice versa.
  STORE_PASSWORD_REFUSED: kind(
    'retry',
    ExitCode.notPermitted,
    'Postgres rejected the password',
    'check user and password in the database URL; during a rotation the indexer retries for five minutes',
    { ms: 300_000 },
  ),
  STORE_LOGIN_REFUSED: kind(
    'park',
    ExitCode.notPermitted,
    'Postgres rejected the login',
    'check user, password and pg_hba.conf',
  ),
  STORE_FAILED: kind(
    'park',
    ExitCode.unexpected,
    'Postgres reported a failure',
    'search the log of Postgres for the failure',
  ),
  STORE_TLS_REFUSED: kind(
    'park',
    ExitCode.configuration,
    'no secure connection to Postgres',
    'check sslmode and sslrootcert in the database URL and the certificate of the server',
  ),
  STORE_URL_INVALID: kind(
    'fatal',
    ExitCode.configuration,
    'DATABASE_URL is not a Postgres URL, or names files that cannot be read',
    'write it as postgres://user:password@host:port/database and check the certificate files in it',
  ),
  STORE_VERSION_UNSUPPORTED: kind('fatal', ExitCode.configuration, 'Postgres is older than 14', 'upgrade the server'),
  STORE_ENCODING_UNSUPPORTED: kind(
    'fatal',
    ExitCode.configuration,
    'the database does not store UTF8',
    'create a database with encoding UTF8 and point the URL at it',
  ),
  STORE_CLOSED: kind(
    'retry',
    ExitCode.temporary,
    'the connections were closed because the process stops',
    'no action needed',
  ),
  STORE_COMMIT_REFUSED: kind(
    'retry',
    ExitCode.temporary,
    'Postgres rolled back instead of committing',
    'no action needed: no row was written and the indexer retries; the log of Postgres contains the failed statement',
  ),
  STORE_LOCK_LOST: kind(
    'fenced',
    ExitCode.temporary,
    'no heartbeat reached Postgres within INDEXER_LEASE',
    'check for pauses of the machine or the network',
  ),
  STORE_LOCK_REQUESTED: kind(
    'fenced',
    ExitCode.temporary,
    'an owner of the tables requested the writer lock, as rebuild does briefly',
    'no action needed: the indexer acquires the lock again as soon as it is free',
  ),
} as const;
