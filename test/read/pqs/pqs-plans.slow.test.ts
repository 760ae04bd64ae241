/** Tests which rows the functions of schema pqs read, and that their results equal the results of a scan. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateHistory } from '../generated-history.ts';
import { randomHistory } from '../random-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const count = 20_000;

/** Contracts that are active at an offset, found without an index. */
const activeByScan = `
  select l.contract_id from ledger.lifetimes l join ledger.templates t using (template_pk)
   where t.entity_name = $1 and l.activated_offset <= $2 and (l.deactivated_offset is null or l.deactivated_offset > $2)
   order by 1`;

describe('schema pqs with 20,000 contracts', () => {
  let database: ReadDatabase;
  beforeAll(async () => {
    database = await createReadDatabase();
    await generateHistory(database, count);
    await database.query(`
      insert into templates values (100, 'holding', 'Holding', 'Holding', null);
      insert into interface_views ("offset", node_id, interface_pk, view, status_code)
        select "offset", node_id, 100, payload, 0 from contracts where template_pk <= 4;
      insert into template_interfaces select i, 100 from generate_series(1, 4) i`);
    await database.query(`call pqs.create_index_for_contract('contracts_n', 'big:M:T1', 'payload->>''n''', 'btree')`);
    await database.query('vacuum analyze');
    await database.query('set search_path = pqs');
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });

  /** The part of the plan that finds templates. The other parts find interfaces and earlier contracts. */
  async function firstPart(sql: string): Promise<string> {
    return (await database.plan(sql)).split('"*SELECT* 2"')[0] ?? '';
  }

  it('uses the index of live rows, and reads no unselected tables', async () => {
    const plan = await firstPart(`select contract_id, payload from active('big:M:T1')`);
    expect(plan).toMatch(/(using|on) live_template/);
    expect(plan).toMatch(/using contracts_(template_offset|pkey)/);
    expect(plan).not.toMatch(/updates|templates t|synchronizers|packages|exercises/);
  });

  it('reads no ended rows for active contracts', async () => {
    const plan = await database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, costs off, timing off) select contract_id from active('big:M:T1')`,
    );
    const planEnd = plan.map((row) => row['QUERY PLAN']).filter((line) => line.includes('ended_template'));
    expect(planEnd.length).toBeGreaterThan(0);
    expect(planEnd.filter((line) => !line.includes('never executed'))).toEqual([]);
  });

  it('reads active interface views by the live contracts of implementing templates', async () => {
    // This table counts as large and must not be scanned completely.
    const planMethods = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'];
    await database.query(planMethods.map((planMethod) => `set enable_${planMethod} = off`).join(';'));
    const plan = await database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, costs off, timing off, summary off) select contract_id, payload from active('Holding')`,
    );
    await database.query(planMethods.map((planMethod) => `reset enable_${planMethod}`).join(';'));
    const lines = plan.map((row) => row['QUERY PLAN']).filter((line) => line.includes(' on interface_views '));
    const [liveRow] = await database.query<{ count: number }>(
      `select count(*)::int as count from ledger.live where template_pk <= 4`,
    );
    expect(lines.filter((line) => !line.includes('never executed'))).toEqual([
      expect.stringMatching(new RegExp(`Index Scan using interface_views_.*loops=${String(liveRow?.count)}\\)`)),
    ]);
    expect(plan.map((row) => row['QUERY PLAN']).join()).toContain('live_template');
  });

  it('reads no tables of unselected columns, in any part of the plan', async () => {
    const selectivePlan = await database.plan(`select contract_id, payload from active()`);
    expect(selectivePlan).not.toMatch(/on (updates|templates|synchronizers|packages|exercises) /);
    expect(await database.plan(`select contract_id, payload from archives('big:M:T0', 100, 200)`)).not.toMatch(
      /on (updates|templates|synchronizers|packages) /,
    );
    expect(
      await database.plan(`select contract_id, argument from exercises('big:M:T0:Archive', 100, 200)`),
    ).not.toMatch(/on (updates|templates|synchronizers|packages) /);
  });

  it('counts active contracts by reading only live rows', async () => {
    const plan = await database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, costs off, timing off, summary off) select * from summary_active()`,
    );
    const lines = plan.map((row) => row['QUERY PLAN']);
    expect(lines.join()).toContain('live_template');
    const functionScans = lines.filter((line) => line.includes('Function Scan on states_at'));
    expect(functionScans).toHaveLength(2);
    expect(functionScans.filter((line) => !line.includes('never executed'))).toEqual([]);
    expect(lines.filter((line) => line.includes('Seq Scan on live'))).toEqual([]);
  });

  it('uses the lifetime class for active contracts at earlier offsets', async () => {
    const plan = await database.plan(`select contract_id from active('big:M:T1', ${count / 2})`);
    expect(plan).toMatch(/(using|on) ended_template[^\n]*\n\s*Index Cond: [^\n]*w\.class/);
  });

  it.each(["contract_id = md5('4711')", `payload->>'n' = '4711'`])('uses the index for %s', async (condition) => {
    const plan = await firstPart(`select contract_id from active('big:M:T1') where ${condition}`);
    expect(plan).toMatch(
      condition.startsWith('payload') ? /using contracts_n/ : /using (contracts_pkey|live_contract)/,
    );
    // Postgres before 16 joins contract_parties although no column needs it. There are few party sets here.
    expect(plan).not.toMatch(/Seq Scan on (?!contract_parties)/);
  });

  it('uses the index on (template_pk, "offset") for an offset range', async () => {
    const plan = await firstPart(`select contract_id from creates('big:M:T1', 100, 200) where created_at_offset > 150`);
    expect(plan).toMatch(/using contracts_template_offset[^\n]*\n\s*Index Cond: [^\n]*"offset" > 150/);
  });

  it('uses indexes for exercises by choice and offset, and by contract', async () => {
    expect(await database.plan(`select contract_id from exercises('big:M:T0:Archive', 100, 200)`)).toMatch(
      /exercises_choice_offset|exercises_pkey/,
    );
    expect(await database.plan(`select choice from lookup_exercises(md5('4711'))`)).toContain('exercises_contract');
  });

  it('returns the same rows as a scan at any offset', async () => {
    for (const offset of [0, 1, 2, 3, 63, 64, 65, 1000, 9_999, 10_000, 19_950, 19_999, 20_000]) {
      const resultRows = await database.query(`select contract_id from active('big:M:T3', $1) order by 1`, [offset]);
      expect(resultRows, `at ${String(offset)}`).toEqual(await database.query(activeByScan, ['T3', offset]));
      const views = await database.query(`select count(*) from active('Holding', $1)`, [offset]);
      const scannedPlan = await database.query(
        `select count(*) from ledger.decoded_interface_views v join ledger.lifetimes l on l.contract_id = v.contract_id
          where l.activated_offset <= $1 and (l.deactivated_offset is null or l.deactivated_offset > $1)`,
        [offset],
      );
      expect(views).toEqual(scannedPlan);
      const [sums] = await database.query(
        `select coalesce(sum(count) filter (where payload_type = 'template'), 0)::text as templates,
                coalesce(sum(count) filter (where payload_type = 'interface'), 0)::text as views from summary_active($1)`,
        [offset],
      );
      const [activePlan] = await database.query(
        `select count(*)::text as count from ledger.lifetimes
          where activated_offset <= $1 and (deactivated_offset is null or deactivated_offset > $1)`,
        [offset],
      );
      expect(sums).toEqual({ templates: activePlan?.['count'], views: String(scannedPlan[0]?.['count']) });
    }
  });
});

describe('schema pqs on histories with reassignments', () => {
  it.each([1, 2])('returns the same contracts as a scan in history %d', async (seed) => {
    await using database = await createReadDatabase();
    await database.write(...randomHistory(seed, 80));
    await database.query('set search_path = pqs');
    for (let offset = 0; offset <= 80; offset += 1) {
      for (const name of ['A', 'B', 'C']) {
        const templateRows = await database.query(`select from ledger.templates where entity_name = $1`, [name]);
        if (templateRows.length === 0) continue;
        const resultRows = await database.query(
          `select contract_id from active($1, $2) where payload_type = 'template' order by 1`,
          [name, offset],
        );
        expect(resultRows, `${name} at ${String(offset)}`).toEqual(await database.query(activeByScan, [name, offset]));
      }
    }
    const [sums] = await database.query(
      `select (select sum(count) from summary_creates() where payload_type = 'template')::int as creates,
              (select count(*) from ledger.contracts where origin <> 'a')::int as stored,
              (select sum(count) from summary_archives() where payload_type = 'template')::int as archives,
              (select count(*) from ledger.lifetimes l join ledger.updates u on u."offset" = l.deactivated_offset
                where u.kind = 't')::int as ended`,
    );
    expect(sums?.['creates']).toBe(sums?.['stored']);
    expect(sums?.['archives']).toBe(sums?.['ended']);
  });
});
