/** Failures of Postgres and of what is kept there. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const storeCodes = {
  STORE_FULL: kind(
    'retry',
    ExitCode.temporary,
    'Postgres cannot write to its disk',
    'free or add disk space; the indexer goes on by itself',
  ),
  STORE_WORKER_LOST: kind(
    'retry',
    ExitCode.unreachable,
    'a worker of Citus does not answer',
    'start the worker that is named; it is tried again from the checkpoint',
  ),
  STORE_WORKERS_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'Citus does not run a statement of this over its workers',
    'leave the history as it is, or index it anew into another schema with what is wanted',
  ),
  STORE_TOO_MANY_CONNECTIONS: kind(
    'retry',
    ExitCode.temporary,
    'Postgres has no connection left',
    'raise max_connections or the limit of the role',
  ),
  STORE_OUT_OF_RESOURCES: kind(
    'retry',
    ExitCode.temporary,
    'Postgres is out of memory or another resource',
    'give the server more resources',
  ),
  STORE_CONFLICT: kind(
    'retry',
    ExitCode.temporary,
    'another transaction was in the way',
    'it is tried again from the checkpoint',
  ),
  STORE_LOCKED: kind(
    'retry',
    ExitCode.temporary,
    'a lock was not granted in time',
    'look in pg_locks for who holds it',
  ),
  // One update that alone takes too long: whether it, or the server, is the reason, nobody here can tell.
  STORE_STATEMENT_TIMEOUT: kind(
    'retry',
    ExitCode.temporary,
    'a statement was cancelled or took too long',
    'if it repeats, see pg_stat_activity and pg_blocking_pids() for what it waits for, or raise POSTGRES_STATEMENT_TIMEOUT',
    { times: 5, named: true },
  ),
  STORE_SESSION_TIMEOUT: kind(
    'retry',
    ExitCode.temporary,
    'Postgres ended an idle session',
    'it is tried again from the checkpoint',
  ),
  STORE_READ_ONLY: kind(
    'retry',
    ExitCode.temporary,
    'Postgres accepts no writes (a standby, or set to read-only)',
    'point the URL at the primary server; if it is the primary, `ledger-indexer check`, as this role, names the setting to change',
  ),
  STORE_TRANSACTION_ABORTED: kind(
    'retry',
    ExitCode.temporary,
    'the transaction was aborted',
    'it is tried again from the checkpoint',
  ),
  STORE_DATABASE_MISSING: kind(
    'park',
    ExitCode.configuration,
    'the database does not exist',
    'create it or correct the URL',
  ),
  STORE_UNREACHABLE: kind(
    'retry',
    ExitCode.unreachable,
    'Postgres, or a pooler in front of it, ended or refused the connection',
    'check that the server is up, and the log of the pooler if there is one',
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
    'Postgres refused a value',
    'report the update at this offset; the column cannot hold it',
  ),
  // Somebody made the index for reads; the tables themselves have none that a value could be too long for.
  STORE_INDEX_LIMIT: kind(
    'retry',
    ExitCode.temporary,
    'a value is too long for an index',
    "drop the index: `select indexrelid::regclass from pg_index where indrelid = 'ledger.contracts'::regclass` lists those of a table, " +
      '`ledger-indexer index create` makes one that takes any length; the indexer goes on by itself',
  ),
  STORE_WRAPAROUND: kind(
    'retry',
    ExitCode.temporary,
    'Postgres has used up its transaction ids',
    'end what is oldest in pg_stat_activity, pg_prepared_xacts and pg_replication_slots, then run `vacuum` in the database with the ' +
      'highest age: `select datname, age(datfrozenxid) from pg_database order by 2 desc`; the indexer goes on by itself',
  ),
  // What the key is, could not be found out: the update is named all the same.
  STORE_DUPLICATE: kind(
    'retry',
    ExitCode.unexpected,
    'a row with this key exists already',
    'it is tried again from the checkpoint; if it repeats, the update is searched for and named',
    { times: 5, named: true },
  ),
  // No data of a ledger breaks ours. Which rule of others it was is said once the update is written alone.
  STORE_CONSTRAINT: kind(
    'park',
    ExitCode.undecodable,
    'a constraint, an index or a trigger refuses a row',
    'drop or change the rule that the message names: it is not one of the indexer',
  ),
  STORE_NOT_PERMITTED: kind(
    'park',
    ExitCode.notPermitted,
    'the role may not do this',
    'run `ledger-indexer grant-roles` as the owner of the database; `ledger-indexer check`, as this role, names the rights that are missing',
  ),
  STORE_SCHEMA_MISMATCH: kind(
    'park',
    ExitCode.configuration,
    'the tables are not as this program expects',
    'run `ledger-indexer migrate` and undo manual changes',
  ),
  // A password is rotated on the server and here, one after the other.
  STORE_PASSWORD_REFUSED: kind(
    'retry',
    ExitCode.notPermitted,
    'Postgres refused the password',
    'check user and password in the database URL; a password being rotated is tried for five minutes',
    { ms: 300_000 },
  ),
  STORE_LOGIN_REFUSED: kind(
    'park',
    ExitCode.notPermitted,
    'Postgres refused the login',
    'check user, password and pg_hba.conf',
  ),
  STORE_FAILED: kind('park', ExitCode.unexpected, 'Postgres reported a failure', 'look it up in the log of Postgres'),
  STORE_TLS_REFUSED: kind(
    'park',
    ExitCode.configuration,
    'no secure connection to Postgres',
    'check sslmode and sslrootcert in the database URL and the certificate of the server',
  ),
  STORE_URL_INVALID: kind(
    'fatal',
    ExitCode.configuration,
    'DATABASE_URL is no URL of Postgres, or names files that cannot be read',
    'write it as postgres://user:password@host:port/database and check the certificate files it names',
  ),
  STORE_VERSION_UNSUPPORTED: kind('fatal', ExitCode.configuration, 'Postgres is older than 14', 'upgrade the server'),
  STORE_ENCODING_UNSUPPORTED: kind(
    'fatal',
    ExitCode.configuration,
    'the database does not store UTF8',
    'create one with encoding UTF8 and point the URL at it',
  ),
  STORE_CLOSED: kind('retry', ExitCode.temporary, 'the connections were closed because the process stops', 'nothing'),
  STORE_COMMIT_REFUSED: kind(
    'retry',
    ExitCode.temporary,
    'Postgres answered a commit with a rollback',
    'nothing was written and it is tried again; look for the failed statement in the log of Postgres',
  ),
  STORE_LOCK_LOST: kind(
    'fenced',
    ExitCode.temporary,
    'no sign of life reached Postgres within INDEXER_LEASE',
    'look for pauses of the machine or the network',
  ),
  STORE_LOCK_REQUESTED: kind(
    'fenced',
    ExitCode.temporary,
    'an owner of the tables asked for the right to write, as rebuild does for a moment',
    'nothing: it is taken again as soon as it is free',
  ),
} as const;
