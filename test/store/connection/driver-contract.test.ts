/**
 * Undocumented behavior of the Postgres driver that the store depends on. These tests fail if a new version of pg
 * changes it. Otherwise a time limit could be lost, or two statements could run although only one was checked.
 */
import { Client, Pool, type ClientBase, type ClientConfig, type Connection } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { ask } from '../../../src/store/reads/answer.ts';
import { runInOneRoundTrip } from '../../../src/store/connection/round-trip.ts';
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
  const driverClient = new Client({ connectionString: database.url, ...config });
  driverClient.on('error', () => undefined);
  await driverClient.connect();
  return driverClient;
}

const insert = { name: 'insert_number', text: 'insert into numbers values ($1)' };

describe('pg driver', () => {
  it('passes its connection and every message up to ReadyForQuery to a custom query', async () => {
    const messages: string[] = [];
    const whenDone = new Promise<void>((resolve) => {
      const handler = (name: string) => (): void => void messages.push(name);
      const customQuery = {
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
      client.query(customQuery);
    });
    await whenDone;
    expect(messages).toEqual(['row description', 'row', 'row', 'complete', 'ready']);
  });

  it('runs custom queries and its own queries in the order of submission', async () => {
    const readCount = () => client.query<{ count: number }>('select count(*)::int as count from numbers');
    const [resultBefore, , resultAfter] = await Promise.all([
      readCount(),
      runInOneRoundTrip(client, [
        { ...insert, values: ['1'] },
        { ...insert, values: ['2'] },
      ]),
      readCount(),
    ]);
    expect([resultBefore.rows, resultAfter.rows]).toEqual([[{ count: 0 }], [{ count: 2 }]]);
  });

  it('parses a named statement only once across two round trips', async () => {
    const { connection } = client as Client & { readonly connection: Connection };
    const parse = connection.parse.bind(connection);
    let parseCount = 0;
    connection.parse = (...args) => {
      parseCount += 1;
      parse(...args);
    };
    const otherStatement = { name: 'other', text: 'select $1::int' };
    expect(await runInOneRoundTrip(client, [{ ...otherStatement, values: ['3'] }])).toEqual([1]);
    expect(await runInOneRoundTrip(client, [{ ...otherStatement, values: ['4'] }])).toEqual([1]);
    connection.parse = parse;
    expect(parseCount).toBe(1);
    const { rows } = await client.query(`select name from pg_prepared_statements where name = 'other'`);
    expect(rows).toEqual([{ name: 'other' }]);
  });

  it('ends a custom query at the time limit of the query', async () => {
    const otherClient = await connected();
    const slowStatement = { name: 'slow', text: 'select pg_sleep(30)', limitMs: 100 };
    await expect(runInOneRoundTrip(otherClient, [slowStatement])).rejects.toThrow('Query read timeout');
    await otherClient.end();
  });

  it('ends a custom query without a time limit at the query_timeout of the client', async () => {
    const otherClient = await connected({ query_timeout: 100 });
    await expect(runInOneRoundTrip(otherClient, [{ name: 'slow', text: 'select pg_sleep(30)' }])).rejects.toThrow(
      'Query read timeout',
    );
    await otherClient.end();
  });

  it('calls the callback once per query, so that each query is timed once', async () => {
    const timedQueries: string[] = [];
    const otherClient = await connected({ query_timeout: 60_000 });
    timeQueries(otherClient, (queryKind) => timedQueries.push(queryKind));
    await runInOneRoundTrip(otherClient, [{ name: 'one', text: 'select 1' }]);
    await otherClient.query('select 1');
    await waitFor('both are timed', () => (timedQueries.length >= 2 ? true : undefined));
    expect(timedQueries).toEqual(['batch', 'read']);
    await otherClient.end();
  });

  it('uses the extended protocol on request, which rejects two statements in one query', async () => {
    const multiStatement = { text: 'select 1; select 2', queryMode: 'extended' };
    await expect(client.query(multiStatement)).rejects.toMatchObject({ code: '42601' });
    await expect(client.query('select 1; select 2')).resolves.toBeDefined();
  });

  it('uses the extended protocol for reader statements, which rejects two statements', async () => {
    const databaseReads = openDatabase({
      url: database.url,
      schema: 'public',
      statementTimeoutMs: 10_000,
      applicationName: 'ask',
    });
    const multiStatementQuery = { statement: 'commit; select 1', paged: false, explains: false };
    const result = ask(databaseReads, multiStatementQuery, { asJson: false, stop: new AbortController().signal }, () =>
      Promise.resolve(),
    );
    await expect(result).rejects.toMatchObject({
      code: 'QUERY_REFUSED',
      message: expect.stringMatching(/multiple commands/) as string,
    });
    await databaseReads.close();
  });

  it('awaits onConnect before the pool lends a new connection', async () => {
    const prepareClient = async (freshClient: ClientBase): Promise<void> => {
      await pause(50);
      await freshClient.query(`set application_name = 'is set'`);
    };
    // According to the types of pg, the setup is not awaited.
    const onConnect = prepareClient as (freshClient: ClientBase) => void;
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
    const chunks: Buffer[] = [];
    for await (const chunk of copyOut(
      client,
      `copy (select repeat('x', 100000) from generate_series(1, 20)) to stdout`,
    )) {
      chunks.push(chunk);
    }
    expect(Buffer.concat(chunks).equals(Buffer.from(`${'x'.repeat(100000)}\n`.repeat(20)))).toBe(true);
  });
});
