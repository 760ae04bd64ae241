/** Tests template names, offsets by time, and waits for an offset. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateHistory } from './generated-history.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';
import { waitFor } from '../support/wait-for.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await generateHistory(database, 20_000);
  await database.query(`
    insert into templates values (101, 'x', 'Other', 'T3', 'small'), (102, 'y', 'Api', 'Holding', null);
    insert into packages values ('z', 'fresh', '1.0.0', '2.1', '{"templates":[{"moduleName":"New","entityName":"Thing"}]}')`);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe('template_pks', () => {
  const pks = async (name: string | null): Promise<readonly number[] | undefined> =>
    (await database.query<{ pks: number[] }>('select explore.template_pks($1) as pks', [name]))[0]?.pks;

  it.each([
    ['T4', [9, 10]],
    ['M:T4', [9, 10]],
    ['big:M:T4', [9, 10]],
    ['#big:M:T4', [9, 10]],
    ['new:M:T4', [10]],
    ['M:T3', [7, 8]],
    ['small:Other:T3', [101]],
    ['y:Api:Holding', [102]],
    ['fresh:New:Thing', []],
    ['Thing', []],
  ])('resolves %s to the templates %j', async (name, expected) => {
    expect((await pks(name))?.toSorted((a, b) => a - b)).toEqual(expected);
  });

  it('resolves null to all templates', async () => {
    expect(await pks(null)).toHaveLength(42);
  });

  it('rejects an ambiguous name and lists the matching names', async () => {
    await expect(pks('T3')).rejects.toMatchObject({
      message: 'Ambiguous name: T3 is the name of big:M:T3 and of small:Other:T3',
      code: '42P08',
    });
  });

  it('rejects an unknown name and lists the nearest names', async () => {
    await expect(pks('smal:Oter:T3')).rejects.toMatchObject({
      message: 'Unknown name: no template smal:Oter:T3 was seen',
      code: '42704',
      hint: expect.stringMatching(/^Nearest names: small:Other:T3, /) as unknown,
    });
    await expect(database.query(`select * from explore.active('nothing')`)).rejects.toMatchObject({ code: '42704' });
    await expect(database.query(`select * from explore.active_at(5, '')`)).rejects.toMatchObject({ code: '42704' });
  });
});

describe('nearest_offset', () => {
  it.each([
    ['the time of a transaction', '2026-01-01 01:00:00', 3_600],
    ['a moment after a transaction', '2026-01-01 01:00:00.999999', 3_600],
    ['a moment before a transaction', '2026-01-01 00:59:59.999999', 3_599],
    ['the year 9999', '9999-12-31', 20_000],
    ['a time before the first transaction', '2026-01-01 00:00:00', null],
    ['the year 1', '0001-01-01', null],
  ])('returns the newest offset up to %s, or null if there is none', async (_caseName, time, expected) => {
    const [row] = await database.query<{ offset: string | null }>(
      'select explore.nearest_offset($1::timestamptz)::int as offset',
      [time],
    );
    expect(row?.offset).toBe(expected);
  });

  it('returns the later of two offsets with equal times, and skips updates without a time', async () => {
    await database.query(`
      begin;
      update updates set effective_at = '2027-01-01' where "offset" in (500, 400);
      update updates set effective_at = null where "offset" = 3600`);
    const [row] = await database.query(
      `select explore.nearest_offset(timestamptz '2028-01-01')::int as later,
              explore.nearest_offset(timestamptz '2026-01-01 01:00:00')::int as without,
              explore.nearest_offset(now() - timestamptz '2026-01-01 02:00:00')::int as ago`,
    );
    await database.query('rollback');
    expect(row).toEqual({ later: 500, without: 3_599, ago: 7_200 });
  });

  it('uses the index on the effective time for a range of times', async () => {
    const plan = await database.plan(
      `select * from updates u where u.effective_at <= '2026-01-01 02:00' and u.effective_at > '2026-01-01 01:59'`,
    );
    expect(plan).toContain('updates_effective_at');
  });
});

describe('wait_for_offset', () => {
  it('returns immediately if the offset is already reached', async () => {
    const [row] = await database.query('select explore.wait_for_offset(20000)::int as reached');
    expect(row).toEqual({ reached: 20_000 });
    expect(await database.query('select explore.latest_offset()::int as latest')).toEqual([{ latest: 20_000 }]);
  });

  it('returns when another connection commits the offset during the wait', async () => {
    const otherClient = new Client({ connectionString: database.url });
    await otherClient.connect();
    const offsetWait = database.query('select explore.wait_for_offset(20001)::int as reached');
    await waitFor('it waits', async () => {
      const sleepingPids =
        "select from pg_stat_activity where wait_event = 'PgSleep' and query like '%wait_for_offset(20001)%'";
      return (await otherClient.query(sleepingPids)).rowCount === 1 ? true : undefined;
    });
    await otherClient.query('update ledger.stream set checkpoint = 20005');
    expect(await offsetWait).toEqual([{ reached: 20_005 }]);
    await otherClient.end();
  });

  it('times out with the error code LI001', async () => {
    await expect(database.query(`select explore.wait_for_offset(30000, '150 ms')`)).rejects.toMatchObject({
      code: 'LI001',
      message: 'Offset 30000 was not reached within 00:00:00.15: the checkpoint is 20005',
      hint: expect.stringContaining('readyz') as unknown,
    });
  });

  it('fails with LI002 in a repeatable-read transaction', async () => {
    await database.query('begin isolation level repeatable read');
    await expect(database.query('select explore.wait_for_offset(30000)')).rejects.toMatchObject({ code: 'LI002' });
    await database.query('rollback');
  });

  it.each(['null', `30000, null`, `null, '1 hour'`])('rejects null arguments (%s)', async (args) => {
    await database.query(`set statement_timeout = '2s'`);
    await expect(database.query(`select explore.wait_for_offset(${args})`)).rejects.toMatchObject({ code: '22004' });
    await database.query('reset statement_timeout');
  });
});
