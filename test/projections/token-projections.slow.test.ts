/** Compares the token views over filled projections with their SELECTs, on the traffic of the demo. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectionNames } from '../../src/model/stream.ts';
import { fillNext, invalidate, removeOutdated } from '../../src/store/projections/fill.ts';
import { builtInProjections } from '../../src/store/projections/projections.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runVerify } from '../verify/verify-run.ts';
import { allEqual, compare, fillAll, turnJitOff, uncoveredCount, useSmallBlocks, withDatabase } from './projected.ts';

describe('token projections', () => {
  let sandbox: Sandbox;
  let database: TestDatabase;
  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 5, updates: 1_500 });
    database = await createTestDatabase();
    await turnJitOff(database.url);
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      INDEXER_START: 'genesis',
      LEDGER_INTERFACES: 'tokens',
    });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await useSmallBlocks(database.url, 64);
  });
  afterAll(async () => {
    await sandbox.close();
    await database.drop();
  });

  it('return the rows of their SELECT while they are empty', async () => {
    expect(await compare(database.url)).toEqual(allEqual);
  });

  it('return the rows of their SELECT when they are filled in ranges', async () => {
    expect(await fillAll(database.url, 100)).toBeGreaterThan(20);
    expect(await compare(database.url)).toEqual(allEqual);
    const [stored] = await query(database.url, 'select count(*)::int as rows from ledger.projected_token_changes');
    expect(stored?.['rows']).toBeGreaterThan(1_000);
  });

  it('are computed without reading a range of rows for each row', async () => {
    const plans = await withDatabase(database.url, (pool) =>
      pool.withClient(async (client) => {
        const texts: string[] = [];
        for (const name of projectionNames) {
          const { rows } = await client.query<{ 'QUERY PLAN': string }>(
            `explain select * from explore.${name}_between(100, 900)`,
          );
          texts.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        }
        return texts;
      }),
    );
    expect(plans).toHaveLength(projectionNames.length);
    for (const plan of plans) expect(plan).not.toMatch(/Materialize|Hash Join|Merge Join/);
  });

  it('count lifetimes in a range that begins and ends within a block', async () => {
    const [bounds] = await query(
      database.url,
      `select max(p."offset")::int as last, count(distinct p."offset")::int as blocks from ledger.projected_contract_lifetimes p`,
    );
    expect(bounds?.['blocks']).toBeGreaterThan(10);
    const counted = (call: string): Promise<readonly Record<string, unknown>[]> =>
      query(
        database.url,
        `select day::text, template_fqn, lived_below::text, sum(contracts)::int as contracts from ${call} group by 1, 2, 3 order by 1, 2, 3`,
      );
    for (const [after, to] of [
      [100, 101],
      [100, 500],
      [127, 1023],
      [130, 5_000],
      [null, 700],
      [700, null],
      [9, 9],
    ]) {
      const stored = await counted(`explore.contract_lifetimes_in(${String(after)}, ${String(to)})`);
      const computed = await counted(
        `(select l.*, explore.fqn(t.package_name, t.module_name, t.entity_name) as template_fqn
            from explore.contract_lifetimes_between(${String(after)}, ${String(to)}) l join ledger.templates t using (template_pk)) c`,
      );
      expect({ after, to, stored }).toEqual({ after, to, stored: computed });
    }
  });

  it('are not needed for the legs of a range', async () => {
    const [counts] = await query(
      database.url,
      `with a as (select * from explore.token_legs_between(200, 600)), b as (select * from explore.token_legs_between(200, 600, false))
       select (select count(*) from a)::int as rows,
              (select count(*) from ((table a except all table b) union all (table b except all table a)) d)::int as different`,
    );
    expect(counts?.['rows']).toBeGreaterThan(100);
    expect(counts?.['different']).toBe(0);
  });

  it.each([7, 37])('have the totals of all holdings at every offset that %i divides', async (step) => {
    const columns = 'owner, provider, account_id, instrument_admin, instrument_id, total, locked, unlocked, holdings';
    const [totals] = await query(
      database.url,
      `with o as (select o.at_offset from ledger.stream s cross join generate_series(${String(step)}, s.checkpoint, ${String(step)}) o (at_offset)),
            a as (select at_offset, ${columns} from explore.token_totals_at((select array_agg(o.at_offset) from o))),
            b as (select o.at_offset, ${columns} from o cross join lateral explore.token_balances_at(o.at_offset))
       select (select count(*) from b)::int as rows, (select count(distinct at_offset) from b)::int as offsets,
              (select count(*) from ((table a except all table b) union all (table b except all table a)) d)::int as different`,
    );
    expect(totals).toMatchObject({ different: 0 });
    expect(totals?.['offsets']).toBeGreaterThan(10);
    expect(totals?.['rows']).toBeGreaterThan(1_000);
  });

  it.each(['token_changes_of', 'token_holding_log', 'token_journal'])('%s rejects an unknown party', async (name) => {
    await expect(query(database.url, `select * from explore.${name}('Unknown::1220')`)).rejects.toMatchObject({
      code: '42704',
    });
  });

  it('store the sums of the other blocks after a prune to the middle of a block', async () => {
    await withDatabase(database.url, async (pool) => {
      const projections = await builtInProjections('ledger');
      const sums = projections.filter(({ isSummed }) => isSummed);
      // The sums are stored before the rows that they read.
      await query(database.url, `insert into ledger.projection_changes (offsets) values ('(,1000]')`);
      await invalidate(pool, projections);
      for (const projection of projections) while (await removeOutdated(pool, projection, 1_000));
      for (const projection of [...sums, ...projections]) {
        while ((await fillNext(pool, projection, 1_000_000)) !== undefined);
      }
    });
    expect(await uncoveredCount(database.url)).toBe(0);
    const unaligned = `select name from ledger.projections where is_summed and covered <> ledger.complete_blocks(covered, true)`;
    expect(await query(database.url, unaligned)).toEqual([]);
    expect(await compare(database.url)).toEqual(allEqual);
  });

  it('do not contain the transfer of a redacted exercise', async () => {
    const transfers = 'ledger.projected_amulet_transfers';
    const [before] = await query(database.url, `select count(*)::int as rows from ${transfers}`);
    expect(before?.['rows']).toBeGreaterThan(10);
    await query(
      database.url,
      `select pqs.redact_exercise(row(t."offset", t.node_id)::pqs.event_id, 'one') from (select * from ${transfers} order by 1 limit 1) t`,
    );
    const [after] = await query(database.url, `select count(*)::int as rows from ${transfers}`);
    expect(after?.['rows']).toBe(Number(before?.['rows']) - 1);
    expect(await compare(database.url)).toEqual(allEqual);
    await fillAll(database.url, 100);
    expect(await compare(database.url)).toEqual(allEqual);
  });

  describe('verify --projections', () => {
    const verify = async (...args: readonly string[]) => {
      const { results } = await runVerify(['--projections', ...args], { DATABASE_URL: database.url });
      return results[0];
    };

    it('finds stored rows equal to their SELECTs, in all ranges or in some', async () => {
      expect(await verify()).toMatchObject({ kind: 'projections', outcome: 'equal', different: 0, findings: [] });
      expect(await verify('1')).toMatchObject({ outcome: 'equal', compared: projectionNames.length });
    });

    it.each([
      ['missing', 'delete from ledger.projected_token_changes where ctid = $1'],
      [
        'extra',
        'insert into ledger.projected_token_changes select * from ledger.projected_token_changes where ctid = $1',
      ],
    ])('reports a %s row', async (type, change) => {
      const [row] = await query(
        database.url,
        'select ctid::text as id, "offset"::int as "offset" from ledger.projected_token_changes order by "offset" limit 1',
      );
      await query(database.url, change.replace('$1', `'${String(row?.['id'])}'`));
      expect(await verify()).toMatchObject({
        outcome: 'different',
        different: 1,
        findings: [{ type, offset: row?.['offset'], row: 'token_changes' }],
      });
      await query(database.url, `insert into ledger.projection_changes (offsets) values ('(,)')`);
      expect(await verify()).toMatchObject({ outcome: 'equal', compared: 0 });
      await fillAll(database.url, 500);
      expect(await verify()).toMatchObject({ outcome: 'equal', different: 0 });
    });
  });

  it('count as filled although the checkpoint moves before each range', async () => {
    await query(database.url, `update ledger.projections set covered = '{}', outdated = '{(,)}', is_filled = false`);
    await withDatabase(database.url, async (pool) => {
      const projections = await builtInProjections('ledger');
      for (const projection of projections) while (await removeOutdated(pool, projection, 1_000));
      for (const projection of [...projections, ...projections]) {
        await fillNext(pool, projection, 1_000_000);
        await query(database.url, 'update ledger.stream set checkpoint = checkpoint + 1');
      }
    });
    expect(await query(database.url, 'select name from ledger.projections where not is_filled')).toEqual([]);
    expect(await compare(database.url)).toEqual(allEqual);
  });

  it('are computed again for the name of a package without exercises', async () => {
    const traffic = `entity_name = 'MemberTraffic'`;
    await query(
      database.url,
      `delete from ledger.exercises x using ledger.choices h, ledger.templates t
        where h.choice_pk = x.choice_pk and t.template_pk = h.template_pk
          and t.package_id in (select b.package_id from ledger.templates b where b.${traffic});
       update ledger.templates set package_name = 'other' where ${traffic};
       insert into ledger.projection_changes (offsets) values ('(,)')`,
    );
    await fillAll(database.url, 100);
    await query(database.url, `update ledger.templates set package_name = 'splice-amulet' where ${traffic}`);
    expect(await compare(database.url)).toMatchObject({ traffic_purchases: { extra: 0, missing: 0 } });
    const [purchases] = await query(database.url, 'select count(*)::int as count from explore.traffic_purchases');
    expect(purchases?.['count']).toBeGreaterThan(0);
  });
});
