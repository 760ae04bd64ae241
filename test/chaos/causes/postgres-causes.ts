/** Causes inside Postgres: changes by an administrator, locks of a session, exhausted resources of the server. */
import type { Client } from 'pg';
import { bouncerSkipReason, startBouncer } from '../../support/bouncer.ts';
import type { AlertCause } from './cause.ts';
import { password, role, type CauseWorld } from './world.ts';

/** Runs a statement of the administrator that takes effect only in new sessions, so it ends the open ones. */
const alterSetting =
  (text: string, database?: string) =>
  async (world: CauseWorld): Promise<void> => {
    await world.sql(text, database);
    await world.endSessions();
  };

const sql =
  (text: string) =>
  async (world: CauseWorld): Promise<void> => {
    await world.sql(text);
  };

/** Sessions that hold a resource until the cause ends, by world. */
const holders = new WeakMap<CauseWorld, Client>();

/** Runs these statements in another session, which stays open. The last statement may fail. */
const waitForLock =
  (...texts: readonly string[]) =>
  async (world: CauseWorld): Promise<void> => {
    const client = await world.client();
    world.closing.push(() => client.end());
    holders.set(world, client);
    for (const text of texts) await client.query(text).catch(() => undefined);
  };

/** Switches the indexer to a connection through a pooler in this mode. */
const backendsWith =
  (mode: string) =>
  async (world: CauseWorld): Promise<void> => {
    const pgBouncer = await startBouncer(world.urlOfRole(world.postgres.port), mode);
    world.closing.push(() => pgBouncer[Symbol.asyncDispose]());
    world.databaseGateway.target = Number(new URL(pgBouncer.url).port);
  };

async function releaseLocks(world: CauseWorld): Promise<void> {
  await holders.get(world)?.end();
}

export const postgresCauses: readonly AlertCause[] = [
  {
    group: 'Postgres',
    what: 'the server is down',
    soon: { code: 'STORE_UNREACHABLE', state: 'backing_off' },
    alerts: ['IndexerDatabaseUnreachable'],
    provoke: (world) => world.stopServer(),
    end: (world) => world.startServer(),
  },
  {
    group: 'Postgres',
    what: 'its machine is disconnected: connections hang',
    soon: { code: 'STORE_UNREACHABLE', state: 'backing_off' },
    within: 20,
    also: ['STORE_LOCK_LOST'],
    alerts: ['IndexerDatabaseUnreachable'],
    world: { env: () => ({ INDEXER_LEASE: '10s' }) },
    provoke: ({ databaseGateway }) => databaseGateway.hang(),
    end: ({ databaseGateway }) => databaseGateway.resume(),
  },
  {
    group: 'Postgres',
    what: 'the database is read-only',
    soon: { code: 'STORE_READ_ONLY', state: 'backing_off' },
    also: ['STORE_UNREACHABLE'],
    alerts: ['IndexerNoWriter'],
    provoke: alterSetting('alter database indexed set default_transaction_read_only = on'),
    end: alterSetting('alter database indexed reset default_transaction_read_only', 'postgres'),
  },
  {
    group: 'Postgres',
    what: 'the role has no connection left',
    soon: { code: 'STORE_TOO_MANY_CONNECTIONS', state: 'backing_off' },
    also: ['STORE_UNREACHABLE'],
    alerts: ['IndexerNoWriter'],
    provoke: alterSetting(`alter role ${role} connection limit 0`),
    end: alterSetting(`alter role ${role} connection limit -1`),
  },
  {
    group: 'Postgres',
    what: 'the password of the role was changed',
    soon: { code: 'STORE_PASSWORD_REFUSED', state: 'backing_off' },
    later: { code: 'STORE_PASSWORD_REFUSED', state: 'parked' },
    also: ['STORE_UNREACHABLE'],
    alerts: ['IndexerParked'],
    provoke: alterSetting(`alter role ${role} password 'another'`),
    end: alterSetting(`alter role ${role} password '${password}'`),
  },
  {
    group: 'Postgres',
    what: 'the role may no longer log in',
    soon: { code: 'STORE_LOGIN_REFUSED', state: 'parked' },
    also: ['STORE_UNREACHABLE'],
    alerts: ['IndexerParked'],
    provoke: alterSetting(`alter role ${role} nologin`),
    end: alterSetting(`alter role ${role} login`),
  },
  {
    group: 'Postgres',
    what: 'the database was renamed or dropped',
    soon: { code: 'STORE_DATABASE_MISSING', state: 'parked' },
    also: ['STORE_UNREACHABLE'],
    alerts: ['IndexerParked'],
    provoke: async (world) => {
      await world.sql('alter database indexed allow_connections false', 'postgres');
      await world.endSessions();
      await world.sql('alter database indexed rename to gone', 'postgres');
    },
    end: async (world) => {
      await world.sql('alter database gone rename to indexed', 'postgres');
      await world.sql('alter database indexed allow_connections true', 'postgres');
    },
  },
  {
    group: 'Postgres',
    what: 'a right of the role was revoked',
    soon: { code: 'STORE_NOT_PERMITTED', state: 'parked' },
    alerts: ['IndexerParked'],
    provoke: sql(`revoke insert on ledger.updates from ${role}`),
    end: sql(`grant insert on ledger.updates to ${role}`),
  },
  {
    group: 'Postgres',
    what: 'a table was renamed',
    soon: { code: 'STORE_SCHEMA_MISMATCH', state: 'parked' },
    alerts: ['IndexerParked'],
    provoke: sql('alter table ledger.batches rename to away'),
    end: sql('alter table ledger.away rename to batches'),
  },
  {
    group: 'Postgres',
    what: 'a constraint added by hand refuses a row',
    soon: { code: 'STORE_CONSTRAINT', state: 'parked' },
    alerts: ['IndexerParked'],
    provoke: sql('alter table ledger.updates add constraint by_hand check ("offset" < 0) not valid'),
    end: sql('alter table ledger.updates drop constraint by_hand'),
  },
  {
    group: 'Postgres',
    what: 'a value is too long for an index added by hand',
    soon: { code: 'STORE_INDEX_LIMIT', state: 'backing_off' },
    alerts: ['IndexerNoWriter'],
    provoke: async (world) => {
      // Each later row gets an index value that cannot be compressed and is longer than a third of a page.
      await world.sql(`create function ledger.long_value(bigint) returns text language sql immutable
        return (select string_agg(md5($1::text || n), '') from generate_series(1, 150) n)`);
      const [{ last } = {}] = await world.sql('select max("offset") + 10 as last from ledger.updates');
      await world.sql(
        `create index by_hand on ledger.updates (ledger.long_value("offset")) where "offset" > ${String(last)}`,
      );
    },
    end: sql('drop index ledger.by_hand'),
  },
  {
    group: 'Postgres',
    what: 'a session locks a table, and POSTGRES_STATEMENT_TIMEOUT is 2 s',
    soon: { code: 'STORE_STATEMENT_TIMEOUT', state: 'backing_off' },
    later: { code: 'STORE_STATEMENT_TIMEOUT', state: 'parked' },
    also: ['STORE_LOCKED'],
    alerts: ['IndexerParked'],
    // The time limit is enforced by the server, whose clock is not accelerated.
    isRealTime: true,
    world: { env: () => ({ POSTGRES_STATEMENT_TIMEOUT: '2s' }) },
    provoke: waitForLock('begin', 'lock table ledger.updates in access exclusive mode'),
    end: releaseLocks,
  },
  {
    group: 'Postgres',
    what: 'its lock table is full',
    soon: { code: 'STORE_OUT_OF_RESOURCES', state: 'backing_off' },
    alerts: ['IndexerNoWriter'],
    world: { settings: { max_locks_per_transaction: '20' } },
    // The locks remain after the statement has failed because the lock table is full.
    provoke: waitForLock('select pg_advisory_lock(n) from generate_series(1, 100000) n'),
    end: releaseLocks,
  },
  {
    group: 'Postgres',
    what: 'its NOTIFY queue is full',
    soon: { state: 'live' },
    alerts: [],
    world: { settings: { max_notify_queue_pages: '64' } },
    provoke: async (world) => {
      // A listener inside a transaction reads no notifications, so the queue keeps them.
      await waitForLock('listen x', 'begin', 'select 1')(world);
      for (let isFull = false; !isFull;) {
        isFull = await world.sql(`select pg_notify('x', n || repeat('x', 7000)) from generate_series(1, 10) n`).then(
          () => false,
          () => true,
        );
      }
    },
    end: releaseLocks,
  },
  {
    group: 'Pooler',
    what: 'a pooler uses another session for each transaction',
    soon: { code: 'STORE_POOLER_UNSUPPORTED', state: 'parked' },
    also: ['STORE_UNREACHABLE'],
    alerts: ['IndexerParked'],
    missing: bouncerSkipReason,
    world: { pooler: backendsWith('session') },
    provoke: async (world) => {
      await backendsWith('transaction')(world);
      world.databaseGateway.cut();
    },
    end: async (world) => {
      await backendsWith('session')(world);
      world.databaseGateway.cut();
    },
  },
  {
    group: 'Pooler',
    what: 'the server behind a pooler is down',
    soon: { code: 'STORE_UNREACHABLE', state: 'backing_off' },
    alerts: ['IndexerDatabaseUnreachable'],
    missing: bouncerSkipReason,
    world: { pooler: backendsWith('session') },
    provoke: (world) => world.stopServer(),
    end: (world) => world.startServer(),
  },
];
