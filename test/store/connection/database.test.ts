import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { types } from 'pg';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { openDatabase, shareOf, withStatementTimeout } from '../../../src/store/connection/database.ts';
import type { Database, DatabaseOptions } from '../../../src/store/connection/database.ts';
import { createTestDatabase } from '../../support/database.ts';
import { deferred } from '../../support/deferred.ts';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
const openDatabases: Database[] = [];

beforeAll(async () => {
  server = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(openDatabases.splice(0).map((database) => database.close(500)));
});
afterAll(() => server.drop());

function openAt(options: Partial<DatabaseOptions> = {}): Database {
  const defaults = { url: server.url, schema: 'public', statementTimeoutMs: 10_000, applicationName: 'database-test' };
  const database = openDatabase({ ...defaults, ...options });
  openDatabases.push(database);
  return database;
}

async function pidOf(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

/** A TCP proxy that can stop forwarding data without closing its connections. They are then half-open. */
async function freezableProxy(url: string): Promise<AsyncDisposable & { url: string; freeze(): void }> {
  const target = new URL(url);
  const sockets: Socket[] = [];
  const proxy = createServer((clientSocket) => {
    const destination = connect(Number(target.port), target.hostname);
    sockets.push(clientSocket, destination);
    for (const socket of [clientSocket, destination]) socket.on('error', () => socket.destroy());
    clientSocket.pipe(destination);
    destination.pipe(clientSocket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const proxyUrl = new URL(url);
  proxyUrl.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: proxyUrl.href,
    freeze: () => sockets.forEach((socket) => socket.unpipe().pause()),
    [Symbol.asyncDispose]: async () => {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

describe('database connection', () => {
  it('works again after its backend is terminated during a transaction', async () => {
    const database = openAt();
    const otherDatabase = openAt();
    const failedTransaction = database.transaction(async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await otherDatabase.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await client.query('select pg_sleep(5)');
    });
    await expect(failedTransaction).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', retry: 'retry' });
    await expect(database.transaction(async (client) => (await client.query('select 1')).rowCount)).resolves.toBe(1);
  });

  it('works again after its idle backend is terminated', async () => {
    const database = openAt();
    const pid = await pidOf(database);
    const whenRemoved = new Promise((resolve) => database.pool.once('remove', resolve));
    await openAt().pool.query('select pg_terminate_backend($1)', [pid]);
    await whenRemoved;
    expect(await pidOf(database)).not.toBe(pid);
  });

  it('fails with STORE_UNREACHABLE if the connection is frozen', async () => {
    await using proxy = await freezableProxy(server.url);
    const database = openAt({ url: proxy.url, statementTimeoutMs: 50 });
    await pidOf(database);
    proxy.freeze();
    await expect(database.withClient((client) => client.query('select 1'))).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    });
  });

  it('cancels a query on a frozen connection when it closes', async () => {
    await using proxy = await freezableProxy(server.url);
    const database = openAt({ url: proxy.url });
    await pidOf(database);
    proxy.freeze();
    const whenLent = deferred();
    const outcome = database
      .withClient((client) => {
        whenLent.resolve();
        return client.query('select 1');
      })
      .catch((error: unknown) => error);
    await whenLent.promise;
    await Promise.all([database.close(100), database.close()]);
    expect(await outcome).toMatchObject({ code: 'STORE_UNREACHABLE' });
  });

  it('rejects waiting callers with STORE_CLOSED when it closes', async () => {
    const database = openAt({ maxConnections: 1 });
    const releaseWork = deferred();
    const whenLent = deferred();
    const first = database.withClient(() => {
      whenLent.resolve();
      return releaseWork.promise;
    });
    await whenLent.promise;
    const second = database.withClient(() => Promise.resolve());
    const whenClosed = database.close();
    await expect(second).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    releaseWork.resolve();
    await Promise.all([first, whenClosed]);
    await expect(database.withClient(() => Promise.resolve())).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });

  it('cancels a statement at the statement timeout', async () => {
    const database = openAt({ statementTimeoutMs: 50 });
    await expect(database.withClient((client) => client.query('select pg_sleep(5)'))).rejects.toMatchObject({
      code: 'STORE_STATEMENT_TIMEOUT',
    });
  });

  it('resolves unqualified names in its schema, with any schema name and URL options', async () => {
    const schema = 'odd "Name\\ with, everything';
    const url = new URL(server.url);
    url.searchParams.set('options', '-c work_mem=3MB');
    const database = openAt({ schema, url: url.href });
    await database.pool.query(`create schema "odd ""Name\\ with, everything"`);
    await database.pool.query('create table placed (id int)');
    const { rows } = await database.pool.query(
      `select schemaname, current_setting('work_mem') as work_mem, current_setting('idle_in_transaction_session_timeout') as idle
         from pg_tables where tablename = 'placed'`,
    );
    expect(rows).toEqual([{ schemaname: schema, work_mem: '3MB', idle: '1min' }]);
  });

  it('reads int8 as a number or bigint, and does not change the global int8 parser', async () => {
    const { rows } = await openAt().pool.query(
      `select 9007199254740991::int8 as safe, 9007199254740993::int8 as large, '{1,null,-9007199254740993}'::int8[] as many`,
    );
    expect(rows).toEqual([{ safe: 9007199254740991, large: 9007199254740993n, many: [1, null, -9007199254740993n] }]);
    expect(types.getTypeParser(types.builtins.INT8)('1')).toBe('1');
  });

  it('rejects an invalid URL with an error that does not contain the password', () => {
    const url = 'postgres://user:hunter2@host:notaport/db';
    let caughtError: unknown;
    try {
      openAt({ url });
    } catch (error) {
      caughtError = error;
    }
    expect(caughtError).toMatchObject({ code: 'STORE_URL_INVALID', exitCode: 78 });
    expect(inspect(caughtError, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('transaction', () => {
  it('leaves no rows or locks if its callback throws, and rethrows the error', async () => {
    const database = openAt();
    await database.pool.query('create table fails (id int)');
    const indexerError = new IndexerError('fenced', { code: 'WRITER_FENCED' });
    const failedTransaction = database.transaction(async (client) => {
      await client.query('insert into fails values (1)');
      await client.query('lock table fails in access exclusive mode');
      throw indexerError;
    });
    await expect(failedTransaction).rejects.toBe(indexerError);
    const { rows } = await database.pool.query('select * from fails');
    expect(rows).toEqual([]);
  });

  it('is rejected if the callback ignores a failed statement', async () => {
    const database = openAt();
    await database.pool.query('create table swallowed (id int)');
    const refusedTransaction = database.transaction(async (client) => {
      await client.query('insert into swallowed values (1)');
      await client.query('select 1/0').catch(() => undefined);
    });
    await expect(refusedTransaction).rejects.toMatchObject({ code: 'STORE_COMMIT_REFUSED', retry: 'retry' });
    expect((await database.pool.query('select * from swallowed')).rowCount).toBe(0);
  });

  it('commits and returns the result of its callback', async () => {
    const database = openAt();
    await database.pool.query('create table kept (id int)');
    const transactionResult = await database.transaction(async (client) => {
      await client.query('insert into kept values (7)');
      return 'done';
    });
    expect(transactionResult).toBe('done');
    expect((await database.pool.query('select id from kept')).rows).toEqual([{ id: 7 }]);
  });
});

describe('shareOf()', () => {
  it('lends at most its number of connections, and serves all waiting callers', async () => {
    const pool = openAt({ maxConnections: 3 });
    const share = shareOf(pool, 2);
    let lentCount = 0;
    let maxLent = 0;
    const work = async (fails: boolean): Promise<void> =>
      await share.withClient(async (client) => {
        maxLent = Math.max(maxLent, (lentCount += 1));
        await client.query('select pg_sleep(0.01)');
        lentCount -= 1;
        if (fails) await client.query('select no_such_column');
      });
    const results = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => work(index % 3 === 0)));
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(maxLent).toBe(2);
    const releaseWork = deferred();
    const holding = [share, share].map((poolShare) => poolShare.withClient(() => releaseWork.promise));
    expect(await pidOf(pool)).toBeGreaterThan(0);
    releaseWork.resolve();
    await Promise.all(holding);
  });

  it('rejects waiting callers when the pool closes', async () => {
    const pool = openAt({ maxConnections: 2 });
    const share = shareOf(pool, 1);
    const releaseWork = deferred();
    const holding = share.withClient(() => releaseWork.promise);
    const whenRejected = expect(share.withClient(() => Promise.resolve())).rejects.toMatchObject({
      code: 'STORE_CLOSED',
    });
    const whenClosed = pool.close(200);
    releaseWork.resolve();
    await Promise.allSettled([holding, whenClosed]);
    await whenRejected;
  });
});

it('withStatementTimeout() sets a statement timeout that does not apply to the pool', async () => {
  const pool = openAt({ maxConnections: 1 });
  const limitedPool = withStatementTimeout(pool, 50);
  const slowQuery = limitedPool.withClient((client) => client.query('select pg_sleep(30)'));
  await expect(slowQuery).rejects.toMatchObject({ code: 'STORE_STATEMENT_TIMEOUT' });
  const limit = async (database: Database): Promise<unknown> =>
    await database.withClient(async (client) => (await client.query('show statement_timeout')).rows[0]);
  expect(await limit(limitedPool)).toEqual({ statement_timeout: '50ms' });
  expect(await limit(pool)).toEqual({ statement_timeout: '10s' });
});
