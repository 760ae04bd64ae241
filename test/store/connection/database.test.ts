import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { types } from 'pg';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { openDatabase, shareOf, withinTime } from '../../../src/store/connection/database.ts';
import type { Database, DatabaseOptions } from '../../../src/store/connection/database.ts';
import { createTestDatabase } from '../../support/database.ts';
import { deferred } from '../../support/deferred.ts';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
const opened: Database[] = [];

beforeAll(async () => {
  server = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close(500)));
});
afterAll(() => server.drop());

function open(options: Partial<DatabaseOptions> = {}): Database {
  const defaults = { url: server.url, schema: 'public', statementTimeoutMs: 10_000, applicationName: 'database-test' };
  const database = openDatabase({ ...defaults, ...options });
  opened.push(database);
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
  const proxy = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: through.href,
    freeze: () => sockets.forEach((socket) => socket.unpipe().pause()),
    [Symbol.asyncDispose]: async () => {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

describe('database connection', () => {
  it('works again after its backend is terminated during a transaction', async () => {
    const database = open();
    const other = open();
    const failed = database.transaction(async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await other.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await client.query('select pg_sleep(5)');
    });
    await expect(failed).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', retry: 'retry' });
    await expect(database.transaction(async (client) => (await client.query('select 1')).rowCount)).resolves.toBe(1);
  });

  it('works again after its idle backend is terminated', async () => {
    const database = open();
    const pid = await pidOf(database);
    const gone = new Promise((resolve) => database.pool.once('remove', resolve));
    await open().pool.query('select pg_terminate_backend($1)', [pid]);
    await gone;
    expect(await pidOf(database)).not.toBe(pid);
  });

  it('fails with STORE_UNREACHABLE if the connection is frozen', async () => {
    await using proxy = await freezableProxy(server.url);
    const database = open({ url: proxy.url, statementTimeoutMs: 50 });
    await pidOf(database);
    proxy.freeze();
    await expect(database.withClient((client) => client.query('select 1'))).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    });
  });

  it('cancels a query on a frozen connection when it closes', async () => {
    await using proxy = await freezableProxy(server.url);
    const database = open({ url: proxy.url });
    await pidOf(database);
    proxy.freeze();
    const lent = deferred();
    const outcome = database
      .withClient((client) => {
        lent.resolve();
        return client.query('select 1');
      })
      .catch((error: unknown) => error);
    await lent.promise;
    await Promise.all([database.close(100), database.close()]);
    expect(await outcome).toMatchObject({ code: 'STORE_UNREACHABLE' });
  });

  it('rejects waiting callers with STORE_CLOSED when it closes', async () => {
    const database = open({ maxConnections: 1 });
    const held = deferred();
    const lent = deferred();
    const first = database.withClient(() => {
      lent.resolve();
      return held.promise;
    });
    await lent.promise;
    const second = database.withClient(() => Promise.resolve());
    const closed = database.close();
    await expect(second).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    held.resolve();
    await Promise.all([first, closed]);
    await expect(database.withClient(() => Promise.resolve())).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });

  it('cancels a statement at the statement timeout', async () => {
    const database = open({ statementTimeoutMs: 50 });
    await expect(database.withClient((client) => client.query('select pg_sleep(5)'))).rejects.toMatchObject({
      code: 'STORE_STATEMENT_TIMEOUT',
    });
  });

  it('resolves unqualified names in its schema, with any schema name and URL options', async () => {
    const schema = 'odd "Name\\ with, everything';
    const url = new URL(server.url);
    url.searchParams.set('options', '-c work_mem=3MB');
    const database = open({ schema, url: url.href });
    await database.pool.query(`create schema "odd ""Name\\ with, everything"`);
    await database.pool.query('create table placed (id int)');
    const { rows } = await database.pool.query(
      `select schemaname, current_setting('work_mem') as work_mem, current_setting('idle_in_transaction_session_timeout') as idle
         from pg_tables where tablename = 'placed'`,
    );
    expect(rows).toEqual([{ schemaname: schema, work_mem: '3MB', idle: '1min' }]);
  });

  it('reads int8 as a number or bigint, and does not change the global int8 parser', async () => {
    const { rows } = await open().pool.query(
      `select 9007199254740991::int8 as safe, 9007199254740993::int8 as large, '{1,null,-9007199254740993}'::int8[] as many`,
    );
    expect(rows).toEqual([{ safe: 9007199254740991, large: 9007199254740993n, many: [1, null, -9007199254740993n] }]);
    expect(types.getTypeParser(types.builtins.INT8)('1')).toBe('1');
  });

  it('rejects an invalid URL with an error that does not contain the password', () => {
    const url = 'postgres://user:hunter2@host:notaport/db';
    let thrown: unknown;
    try {
      open({ url });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'STORE_URL_INVALID', exitCode: 78 });
    expect(inspect(thrown, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('transaction', () => {
  it('leaves no rows or locks if its callback throws, and rethrows the error', async () => {
    const database = open();
    await database.pool.query('create table fails (id int)');
    const indexerError = new IndexerError('fenced', { code: 'WRITER_FENCED' });
    const failed = database.transaction(async (client) => {
      await client.query('insert into fails values (1)');
      await client.query('lock table fails in access exclusive mode');
      throw indexerError;
    });
    await expect(failed).rejects.toBe(indexerError);
    const { rows } = await database.pool.query('select * from fails');
    expect(rows).toEqual([]);
  });

  it('is rejected if the callback ignores a failed statement', async () => {
    const database = open();
    await database.pool.query('create table swallowed (id int)');
    const refused = database.transaction(async (client) => {
      await client.query('insert into swallowed values (1)');
      await client.query('select 1/0').catch(() => undefined);
    });
    await expect(refused).rejects.toMatchObject({ code: 'STORE_COMMIT_REFUSED', retry: 'retry' });
    expect((await database.pool.query('select * from swallowed')).rowCount).toBe(0);
  });

  it('commits and returns the result of its callback', async () => {
    const database = open();
    await database.pool.query('create table kept (id int)');
    const returned = await database.transaction(async (client) => {
      await client.query('insert into kept values (7)');
      return 'done';
    });
    expect(returned).toBe('done');
    expect((await database.pool.query('select id from kept')).rows).toEqual([{ id: 7 }]);
  });
});

describe('shareOf()', () => {
  it('lends at most its number of connections, and serves all waiting callers', async () => {
    const pool = open({ maxConnections: 3 });
    const share = shareOf(pool, 2);
    let lent = 0;
    let most = 0;
    const work = async (fails: boolean): Promise<void> =>
      await share.withClient(async (client) => {
        most = Math.max(most, (lent += 1));
        await client.query('select pg_sleep(0.01)');
        lent -= 1;
        if (fails) await client.query('select no_such_column');
      });
    const results = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => work(at % 3 === 0)));
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, at) => (at % 3 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(most).toBe(2);
    const held = deferred();
    const holding = [share, share].map((each) => each.withClient(() => held.promise));
    expect(await pidOf(pool)).toBeGreaterThan(0);
    held.resolve();
    await Promise.all(holding);
  });

  it('rejects waiting callers when the pool closes', async () => {
    const pool = open({ maxConnections: 2 });
    const share = shareOf(pool, 1);
    const held = deferred();
    const holding = share.withClient(() => held.promise);
    const waiting = expect(share.withClient(() => Promise.resolve())).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    const closing = pool.close(200);
    held.resolve();
    await Promise.allSettled([holding, closing]);
    await waiting;
  });
});

it('withinTime() sets a statement timeout that does not apply to the pool', async () => {
  const pool = open({ maxConnections: 1 });
  const quick = withinTime(pool, 50);
  const slow = quick.withClient((client) => client.query('select pg_sleep(30)'));
  await expect(slow).rejects.toMatchObject({ code: 'STORE_STATEMENT_TIMEOUT' });
  const limit = async (database: Database): Promise<unknown> =>
    await database.withClient(async (client) => (await client.query('show statement_timeout')).rows[0]);
  expect(await limit(quick)).toEqual({ statement_timeout: '50ms' });
  expect(await limit(pool)).toEqual({ statement_timeout: '10s' });
});
