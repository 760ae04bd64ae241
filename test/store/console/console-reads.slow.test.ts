/** Hostile statements on the query page can only read rows, and only for a limited time. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsolePage } from '../../../src/observe/page/console-page.ts';
import { largestAnswer, openConsoleReads, type ConsoleReads } from '../../../src/store/console/console-reads.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { migrate } from '../../../src/store/schema/migrations.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';

/** All databases of a server share roles, so the role has a name that is unique to this run. */
const schema = `asked_${randomBytes(4).toString('hex')}`;
const bounds = { rows: 10, characters: 1_000_000 };
const neverAborted = new AbortController().signal;

let testDatabase: TestDatabase;
let databaseReads: ConsoleReads;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const applicationName = 'test';
  const owner = openDatabase({ url: testDatabase.url, schema, statementTimeoutMs: 60_000, applicationName });
  await migrate(owner, { exerciseJson: 'jsonb' });
  await owner.close();
  databaseReads = openConsoleReads({ url: testDatabase.url, schema, statementTimeoutMs: 1_000, makeReader: true });
});
afterAll(async () => {
  await databaseReads.close();
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${schema}_console`);
});

const queryOne = async (statement: string): Promise<string | null | undefined> =>
  (await databaseReads.ask(statement, bounds, neverAborted)).rows[0]?.[0];

describe('query page login', () => {
  it('is created with read-only rights', async () => {
    expect(await queryOne('select session_user')).toBe(`${schema}_console`);
    expect(await queryOne('select count(*) from updates')).toBe('0');
    await expect(queryOne("select pg_read_file('PG_VERSION')")).rejects.toMatchObject({ code: 'QUERY_REFUSED' });
    await expect(queryOne("select set_config('role', 'postgres', true)")).rejects.toThrow();
    await expect(queryOne('with gone as (delete from contracts returning 1) select 1')).rejects.toThrow();
  });

  it('is rejected if it is a superuser', async () => {
    await refusesAt(testDatabase.url, /is a superuser/);
  });

  it.each([
    ['may write', `grant insert on ${schema}.contracts to ROLE`, /may change .*contracts/],
    ['may become a role that may write', `grant ${schema}_group to ROLE`, /may change .*contracts/],
    [
      'may read secrets',
      `create policy seen on ${schema}.webhook_secrets for select to ROLE using (true)`,
      /sees secrets/,
    ],
    ['bypasses row security', 'alter role ROLE bypassrls', /bypasses row security/],
    ['may read the activity of all roles', 'grant pg_monitor to ROLE', /member of pg_monitor/],
  ])('is rejected if it %s', async (_, sql, why) => {
    const [role, group] = [`${schema}_login`, `${schema}_group`];
    await query(
      testDatabase.url,
      `create role ${group}; grant insert on ${schema}.contracts to ${group};
       create role ${role} login noinherit password '${role}'; ${sql.replace('ROLE', role)}`,
    );
    const url = new URL(testDatabase.url);
    [url.username, url.password] = [role, role];
    try {
      await refusesAt(url.href, why);
    } finally {
      await query(testDatabase.url, `drop owned by ${role}, ${group}; drop role ${role}; drop role ${group}`);
    }
  });
});

async function refusesAt(url: string, why: RegExp): Promise<void> {
  const own = openConsoleReads({ url, schema, statementTimeoutMs: 1_000, makeReader: false });
  try {
    await expect(own.ask('select 1', bounds, neverAborted)).rejects.toThrow(why);
    await expect(own.ask('select 1', bounds, neverAborted)).rejects.toMatchObject({
      code: 'QUERY_REFUSED',
      remedy: expect.stringContaining(`grant-reader ${schema}_console`) as unknown,
    });
  } finally {
    await own.close();
  }
}

describe('query page statement', () => {
  it('is rejected if it is not a single query', async () => {
    for (const text of ['', 'select 1; select 2', 'copy updates to stdout', 'begin', 'select 1\0'])
      await expect(databaseReads.ask(text, bounds, neverAborted), text).rejects.toMatchObject({
        code: 'QUERY_REFUSED',
      });
  });

  it('returns rows and characters up to the limits', async () => {
    const answer = await databaseReads.ask('select n from generate_series(1, 1000) n', bounds, neverAborted);
    expect([answer.rows.length, answer.complete, answer.rows.at(-1)]).toEqual([10, false, ['10']]);
    const ten = await databaseReads.ask('select n from generate_series(1, 10) n', bounds, neverAborted);
    expect([ten.rows.length, ten.complete]).toEqual([10, true]);
    const long = await databaseReads.ask("select repeat('x', 400000) from generate_series(1, 9)", bounds, neverAborted);
    expect([long.rows.length, long.complete]).toEqual([2, false]);
  });

  it('returns four large rows if only four fit in the character limit', async () => {
    const long = "select repeat('x', 1000000) from generate_series(1, 500)";
    const answer = await databaseReads.ask(long, { rows: 1_000, characters: 4_000_000 }, neverAborted);
    expect([answer.rows.length, answer.complete]).toEqual([4, false]);
  });

  it('has a result size limit that depends on the heap size', () => {
    const mebibyte = 1024 ** 2;
    expect([96, 384, 1_920, 8_192].map((heap) => largestAnswer(heap * mebibyte) / mebibyte)).toEqual([3, 12, 64, 64]);
  });

  it('returns 504 at the time limit, and is cancelled in Postgres when the client stops it', async () => {
    const page = new ConsolePage({
      reads: { ...databaseReads, explain: () => Promise.reject(new Error('nobody asks')) },
      readsOf: () => {
        throw new Error('a client without a token');
      },
      guide: { queries: [], explore: 'explore', maxSeconds: 1 },
      takesNodeTokens: false,
    });
    // The statement can remove the statement timeout of its session.
    const endless =
      "select set_config('statement_timeout', '0', false), pg_sleep(0.006) from generate_series(1, 100000)";
    for (const statement of ['select pg_sleep(30)', endless]) {
      const { status, body } = await page.answer('/query', JSON.stringify({ statement }), neverAborted);
      expect([status, body]).toEqual([504, expect.stringContaining('longer than 1 s')]);
    }
    const stop = new AbortController();
    const pendingResult = databaseReads.ask(endless, { rows: 100_000, characters: 1_000_000 }, stop.signal);
    pendingResult.catch(() => undefined);
    const running = async (): Promise<number> => {
      const found = `select 1 from pg_stat_activity where usename = '${schema}_console' and state = 'active'`;
      return (await query(testDatabase.url, found)).length;
    };
    await waitFor('it runs', async () => ((await running()) > 0 ? true : undefined));
    stop.abort();
    await expect(pendingResult).rejects.toThrow();
    await waitFor('it runs no more', async () => ((await running()) === 0 ? true : undefined));
  });

  it('releases advisory locks when it ends', async () => {
    expect(await queryOne('select 1')).toBe('1');
    // By default, the login of the query page may not call this function.
    await query(testDatabase.url, `grant execute on function pg_advisory_lock(bigint) to ${schema}_console`);
    await queryOne('select pg_advisory_lock(42)');
    const client = new Client({ connectionString: testDatabase.url });
    await client.connect();
    try {
      await waitFor(
        'the lock is free',
        async () => {
          const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock(42) as got');
          return rows[0]?.got === true ? true : undefined;
        },
        3_000,
      );
    } finally {
      await client.end();
    }
  });
});

it('query page name search treats quotes and wildcards literally', async () => {
  for (const text of ["'", '%', String.raw`\ `, '_', "x' union select 'a', 'b', 1 --"])
    expect((await databaseReads.search(text, neverAborted)).rows, text).toEqual([]);
});

// This is the last test, because it gives the login another password.
it('query page cancels a result that exceeds the size limit', async () => {
  // The first rows are short, so that many are fetched at once.
  const huge = "select repeat('x', case when n <= 10 then 1 else 1000000 end) from generate_series(1, 150) n";
  const patient = openConsoleReads({ url: testDatabase.url, schema, statementTimeoutMs: 60_000, makeReader: true });
  const most = { rows: 1_000, characters: 1_000_000_000 };
  await expect(patient.ask(huge, most, neverAborted)).rejects.toThrow(/larger than \d+ MiB/);
  await patient.close();
});
