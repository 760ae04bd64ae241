/**
 * Undocumented behavior of the Postgres driver that the store depends on. These tests fail if a new version of pg
 * changes it. Otherwise a time limit could be lost, or two statements could run although only one was checked.
 */
import { Client, Pool, type ClientBase, type ClientConfig, type Connection } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { ask } from '../../../src/store/reads/answer.ts';
import { inOneRoundTrip } from '../../../src/store/connection/round-trip.ts';
import { timeQueries } from '../../../src/store/connection/query-timing.ts';
import { copyOut } from '../../../src/store/exported/copy-out.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { pause, waitFor } from '../../support/wait-for.ts';

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('create table numbers (n int primary key)');
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Opens another connection. */
async function connected(config: ClientConfig = {}): Promise<Client> {
  const made = new Client({ connectionString: database.url, ...config });
  made.on('error', () => undefined);
  await made.connect();
  return made;
}

const insert = { name: 'insert_number', text: 'insert into numbers values ($1)' };

describe('pg driver', () => {
  it('passes its connection and every message up to ReadyForQuery to a custom query', async () => {
    const messages: string[] = [];
    const done = new Promise<void>((resolve) => {
      const handler = (name: string) => (): void => void messages.push(name);
      const own = {
        submit: (connection: Connection) => connection.query('select 1 union all select 2'),
        handleRowDescription: handler('row description'),
        handleDataRow: handler('row'),
        handleCommandComplete: handler('complete'),
        handleError: handler('error'),
        handleReadyForQuery: () => {
          messages.push('ready');
          resolve();
        },
      };
      client.query(own);
    });
    await done;
    expect(messages).toEqual(['row description', 'row', 'row', 'complete', 'ready']);
  });

  it('runs custom queries and its own queries in the order of submission', async () => {
    const counted = () => client.query<{ count: number }>('select count(*)::int as count from numbers');
    const [before, , after] = await Promise.all([
      counted(),
      inOneRoundTrip(client, [
        { ...insert, values: ['1'] },
        { ...insert, values: ['2'] },
      ]),
      counted(),
    ]);
    expect([before.rows, after.rows]).toEqual([[{ count: 0 }], [{ count: 2 }]]);
  });

  it('parses a named statement only once across two round trips', async () => {
    const { connection } = client as Client & { readonly connection: Connection };
    const parse = connection.parse.bind(connection);
    let parsed = 0;
    connection.parse = (...args) => {
      parsed += 1;
      parse(...args);
    };
    const other = { name: 'other', text: 'select $1::int' };
    expect(await inOneRoundTrip(client, [{ ...other, values: ['3'] }])).toEqual([1]);
    expect(await inOneRoundTrip(client, [{ ...other, values: ['4'] }])).toEqual([1]);
    connection.parse = parse;
    expect(parsed).toBe(1);
    const { rows } = await client.query(`select name from pg_prepared_statements where name = 'other'`);
    expect(rows).toEqual([{ name: 'other' }]);
  });

  it('ends a custom query at the time limit of the query', async () => {
    const other = await connected();
    const slow = { name: 'slow', text: 'select pg_sleep(30)', limitMs: 100 };
    await expect(inOneRoundTrip(other, [slow])).rejects.toThrow('Query read timeout');
    await other.end();
  });

  it('ends a custom query without a time limit at the query_timeout of the client', async () => {
    const other = await connected({ query_timeout: 100 });
    await expect(inOneRoundTrip(other, [{ name: 'slow', text: 'select pg_sleep(30)' }])).rejects.toThrow(
      'Query read timeout',
    );
    await other.end();
  });

  it('calls the callback once per query, so that each query is timed once', async () => {
    const timed: string[] = [];
    const other = await connected({ query_timeout: 60_000 });
    timeQueries(other, (op) => timed.push(op));
    await inOneRoundTrip(other, [{ name: 'one', text: 'select 1' }]);
    await other.query('select 1');
    await waitFor('both are timed', () => (timed.length >= 2 ? true : undefined));
    expect(timed).toEqual(['batch', 'read']);
    await other.end();
  });

  it('uses the extended protocol on request, which rejects two statements in one query', async () => {
    const two = { text: 'select 1; select 2', queryMode: 'extended' };
    await expect(client.query(two)).rejects.toMatchObject({ code: '42601' });
    await expect(client.query('select 1; select 2')).resolves.toBeDefined();
  });

  it('uses the extended protocol for reader statements, which rejects two statements', async () => {
    const reads = openDatabase({
      url: database.url,
      schema: 'public',
      statementTimeoutMs: 10_000,
      applicationName: 'ask',
    });
    const question = { statement: 'commit; select 1', paged: false, explains: false };
    const result = ask(reads, question, { asJson: false, stop: new AbortController().signal }, () => Promise.resolve());
    await expect(result).rejects.toMatchObject({
      code: 'QUERY_REFUSED',
      message: expect.stringMatching(/multiple commands/) as string,
    });
    await reads.close();
  });

  it('awaits onConnect before the pool lends a new connection', async () => {
    const setUp = async (fresh: ClientBase): Promise<void> => {
      await pause(50);
      await fresh.query(`set application_name = 'is set'`);
    };
    // According to the types of pg, the setup is not awaited.
    const onConnect = setUp as (fresh: ClientBase) => void;
    const pool = new Pool({ connectionString: database.url, max: 1, onConnect });
    const { rows } = await pool.query('show application_name');
    expect(rows).toEqual([{ application_name: 'is set' }]);
    expect(pool.options.max).toBe(1);
    await pool.end();
  });

  it('has the backend process id in processID', async () => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    expect(Reflect.get(client, 'processID')).toBe(rows[0]?.pid);
  });

  it('returns COPY data in chunks that do not change later', async () => {
    const pieces: Buffer[] = [];
    for await (const piece of copyOut(
      client,
      `copy (select repeat('x', 100000) from generate_series(1, 20)) to stdout`,
    )) {
      pieces.push(piece);
    }
    expect(Buffer.concat(pieces).equals(Buffer.from(`${'x'.repeat(100000)}\n`.repeat(20)))).toBe(true);
  });
});
