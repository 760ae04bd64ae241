import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IndexerError } from '../../../src/errors/indexer-error.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import type { Database } from '../../../src/store/connection/database.ts';
import { toStoreError } from '../../../src/store/connection/store-error.ts';
import { createTestDatabase } from '../../support/database.ts';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;

beforeAll(async () => {
  server = await createTestDatabase();
  database = openAt(server.url);
});
afterAll(async () => {
  await database.close();
  await server.drop();
});

function openAt(url: string): Database {
  return openDatabase({ url, schema: 'public', statementTimeoutMs: 5_000, applicationName: 'store-error-test' });
}

async function failure(readDatabase: Database, sql: string): Promise<unknown> {
  return readDatabase
    .withClient((client) => client.query(sql))
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}

describe('value too long for an index', () => {
  /** A text that Postgres cannot compress enough to fit into an index row. */
  const text = (length: number): string =>
    `(select string_agg(md5(i::text), '') from generate_series(1, ${Math.ceil(length / 32)}) i)`;
  it.each([
    ['3,200 bytes', text(3_200), 'public.notes_by_text'],
    // Postgres does not name the index.
    ['20,000 bytes', text(20_000), undefined],
  ])('is reported as STORE_INDEX_LIMIT with %s', async (_, value, index) => {
    await database.withClient((client) =>
      client.query('create table notes (note text); create index notes_by_text on notes (note)'),
    );
    const error = await failure(database, `insert into notes select ${value}`);
    expect(error).toMatchObject({ code: 'STORE_INDEX_LIMIT', retry: 'retry', facts: { sqlstate: '54000' } });
    expect((error as IndexerError).facts['index']).toBe(index);
    if (index !== undefined) expect((error as IndexerError).remedy).toContain(`drop index concurrently ${index}`);
    await database.withClient((client) => client.query('drop table notes'));
  });
});

describe('Citus error', () => {
  it.each([
    [
      '08006',
      'connection to the remote node postgres@10.0.0.7:5432 failed with the following error: a secret',
      '10.0.0.7:5432',
    ],
    ['XX000', 'failure on connection marked as essential: worker-1.db:5432', 'worker-1.db:5432'],
    ['58030', 'failed to COPY to shard 102206 on worker-1:6432', 'worker-1:6432'],
    ['58030', 'failed to complete COPY on worker-1:6432', 'worker-1:6432'],
    ['XX000', 'SSL SYSCALL error: EOF detected', undefined],
    ['XX000', 'terminating connection due to administrator command', undefined],
    ['XX000', 'the database system is shutting down', undefined],
    ['XX000', 'failed to complete COPY on a secret', undefined],
  ])('is reported as a lost worker: SQLSTATE %s, "%s"', async (sqlstate, message, worker) => {
    const error = await failure(
      database,
      `do $$ begin raise exception '${message}' using errcode = '${sqlstate}'; end $$`,
    );
    expect(error).toMatchObject({ code: 'STORE_WORKER_LOST', retry: 'retry', exitCode: 69, facts: { sqlstate } });
    expect((error as IndexerError).facts['worker']).toBe(worker);
    expect((error as IndexerError).message).not.toContain('secret');
    if (worker !== undefined) expect((error as IndexerError).message).toContain(worker);
  });

  it.each(['complex joins are only supported when all of a secret', 'cannot push down this subquery of a secret'])(
    'is reported as STORE_WORKERS_REFUSED: "%s"',
    async (message) => {
      const error = await failure(database, `do $$ begin raise exception '${message}' using errcode = '0A000'; end $$`);
      expect(error).toMatchObject({ code: 'STORE_WORKERS_REFUSED', retry: 'fatal', exitCode: 78 });
      expect((error as IndexerError).message).not.toContain('secret');
    },
  );
});

describe('Postgres error', () => {
  it.each([
    ['08006', 'STORE_UNREACHABLE', 'retry', 69],
    ['57P01', 'STORE_UNREACHABLE', 'retry', 69],
    ['57P03', 'STORE_UNREACHABLE', 'retry', 69],
    ['53300', 'STORE_TOO_MANY_CONNECTIONS', 'retry', 75],
    ['53200', 'STORE_OUT_OF_RESOURCES', 'retry', 75],
    ['53100', 'STORE_FULL', 'retry', 75],
    ['58030', 'STORE_FULL', 'retry', 75],
    ['40001', 'STORE_CONFLICT', 'retry', 75],
    ['40P01', 'STORE_CONFLICT', 'retry', 75],
    ['55P03', 'STORE_LOCKED', 'retry', 75],
    ['57014', 'STORE_STATEMENT_TIMEOUT', 'retry', 75],
    ['25P03', 'STORE_SESSION_TIMEOUT', 'retry', 75],
    ['25006', 'STORE_READ_ONLY', 'retry', 75],
    ['22P05', 'STORE_DATA_REFUSED', 'park', 65],
    ['22021', 'STORE_DATA_REFUSED', 'park', 65],
    ['22P02', 'STORE_DATA_REFUSED', 'park', 65],
    ['22003', 'STORE_DATA_REFUSED', 'park', 65],
    ['54000', 'STORE_DATA_REFUSED', 'park', 65],
    ['54001', 'STORE_DATA_REFUSED', 'park', 65],
    ['23505', 'STORE_DUPLICATE', 'retry', 70],
    ['23514', 'STORE_CONSTRAINT', 'park', 65],
    ['26000', 'STORE_POOLER_UNSUPPORTED', 'park', 78],
    ['42P05', 'STORE_POOLER_UNSUPPORTED', 'park', 78],
    ['42P01', 'STORE_SCHEMA_MISMATCH', 'park', 78],
    ['42703', 'STORE_SCHEMA_MISMATCH', 'park', 78],
    ['3F000', 'STORE_SCHEMA_MISMATCH', 'park', 78],
    ['42501', 'STORE_NOT_PERMITTED', 'park', 77],
    ['28P01', 'STORE_PASSWORD_REFUSED', 'retry', 77],
    ['28000', 'STORE_LOGIN_REFUSED', 'park', 77],
    ['3D000', 'STORE_DATABASE_MISSING', 'park', 78],
    ['XX000', 'STORE_FAILED', 'park', 70],
  ])('is mapped from SQLSTATE %s to %s, retry class %s, exit code %i', async (sqlstate, code, retry, exitCode) => {
    const raiseSql = `do $$ begin raise exception 'a secret' using errcode = '${sqlstate}', detail = 'a secret',
      hint = 'a secret', table = 'contracts', constraint = 'contracts_pkey'; end $$`;
    const error = await failure(database, raiseSql);
    expect(error).toMatchObject({
      code,
      retry,
      exitCode,
      facts: { sqlstate, table: 'contracts', constraint: 'contracts_pkey' },
    });
    expect(inspect(error, { depth: 9 })).not.toContain('a secret');
  });

  it('names the object for which the role lacks a right', async () => {
    const error = await failure(database, 'set role pg_signal_backend; select from pg_authid');
    expect(error).toHaveProperty('message', 'the role may not do this (SQLSTATE 42501, table pg_authid)');
  });

  it('does not contain the row that violated a constraint', async () => {
    await database.pool.query(`create table unique_payload (payload text primary key)`);
    const insert = `insert into unique_payload values ('a secret')`;
    await database.pool.query(insert);
    const error = await failure(database, insert);
    expect(error).toMatchObject({ code: 'STORE_DUPLICATE', facts: { constraint: 'unique_payload_pkey' } });
    expect(inspect(error, { depth: 9 })).not.toContain('a secret');
  });
});

describe('login error', () => {
  /** Responds to each startup like a pooler that cannot reach its server. */
  async function refusingServer(
    sqlstate: string,
    message: string,
  ): Promise<{ readonly url: string; close: () => void }> {
    const fields = { S: 'FATAL', V: 'FATAL', C: sqlstate, M: message };
    const text = Object.entries(fields).map(([name, value]) => `${name}${value}\0`);
    const body = Buffer.from(`${text.join('')}\0`);
    const head = Buffer.alloc(5);
    head.write('E');
    head.writeInt32BE(body.length + 4, 1);
    const pooler = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, body]))));
    await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve));
    const { port } = pooler.address() as AddressInfo;
    return { url: `postgres://user@127.0.0.1:${port}/db`, close: () => pooler.close() };
  }

  it.each([
    ['XX000', 'Tenant or user not found', 'STORE_UNREACHABLE', /log of the pooler/],
    ['58000', 'could not get connection from the pool', 'STORE_UNREACHABLE', /log of the pooler/],
    ['08P01', 'server login has been failing', 'STORE_UNREACHABLE', /log of the pooler/],
    [
      '28000',
      'no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", no encryption',
      'STORE_LOGIN_REFUSED',
      /sslmode/,
    ],
    [
      '28000',
      'no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", SSL off',
      'STORE_LOGIN_REFUSED',
      /sslmode/,
    ],
    [
      '28000',
      'no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", SSL encryption',
      'STORE_LOGIN_REFUSED',
      /user/,
    ],
  ])('is mapped from SQLSTATE %s and "%s" to %s', async (sqlstate, message, code, remedy) => {
    const pooler = await refusingServer(sqlstate, message);
    const pooledDatabase = openAt(pooler.url);
    const error = (await failure(pooledDatabase, 'select 1')) as IndexerError;
    await pooledDatabase.close();
    pooler.close();
    expect(error).toMatchObject({ code, remedy: expect.stringMatching(remedy) as unknown, facts: { sqlstate } });
    expect(error.message).not.toContain('10.0.0.1');
  });
});

describe('connection error', () => {
  it('contains host, port and errno, but not the password', async () => {
    const freeServer = createServer();
    await new Promise<void>((resolve) => freeServer.listen(0, '127.0.0.1', resolve));
    const { port } = freeServer.address() as AddressInfo;
    await new Promise((resolve) => freeServer.close(resolve));
    const unreachableDatabase = openAt(`postgres://user:hunter2@127.0.0.1:${port}/db`);
    const error = await failure(unreachableDatabase, 'select 1');
    await unreachableDatabase.close();
    expect(error).toMatchObject({ code: 'STORE_UNREACHABLE', retry: 'retry', exitCode: 69 });
    expect(String(error)).toContain(`127.0.0.1:${port} (ECONNREFUSED)`);
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
  });

  it('has code STORE_DATABASE_MISSING if the database does not exist', async () => {
    const url = new URL(server.url);
    url.pathname = '/no_such_database';
    const missingDatabase = openAt(url.href);
    expect(await failure(missingDatabase, 'select 1')).toMatchObject({ code: 'STORE_DATABASE_MISSING', retry: 'park' });
    await missingDatabase.close();
  });

  it('has code STORE_TLS_REFUSED if the URL requires TLS and the server has no TLS', async () => {
    const url = new URL(server.url);
    url.searchParams.set('sslmode', 'verify-full');
    const plainDatabase = openAt(url.href);
    expect(await failure(plainDatabase, 'select 1')).toMatchObject({ code: 'STORE_TLS_REFUSED', retry: 'park' });
    await plainDatabase.close();
  });

  it.each([
    'Connection terminated unexpectedly',
    'Query read timeout',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'Cannot use a pool after calling end on the pool',
  ])('is retried if it has no code: %s', (message) => {
    expect(toStoreError(new Error(message))).toMatchObject({ code: 'STORE_UNREACHABLE', retry: 'retry' });
  });

  it('is not assumed for a TypeError, which is reported as UNEXPECTED', () => {
    expect(toStoreError(new TypeError('connection is undefined'))).toMatchObject({
      code: 'UNEXPECTED',
      retry: 'fatal',
    });
  });
});
