/** Schema pqs at size: what its functions read, and that what they find is what a scan of everything finds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateHistory } from './generated-history.ts';
import { randomHistory } from './random-history.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

const count = 20_000;

/** Active at an offset, found without any index trick. */
const activeByScan = `
  select l.contract_id from ledger.lifetimes l join ledger.templates t using (template_pk)
   where t.entity_name = $1 and l.activated_offset <= $2 and (l.deactivated_offset is null or l.deactivated_offset > $2)
   order by 1`;

describe('20,000 contracts', () => {
  let database: ReadDatabase;
  beforeAll(async () => {
    database = await createReadDatabase();
    await generateHistory(database, count);
    await database.query(`
      insert into templates values (100, 'holding', 'Holding', 'Holding', null);
      insert into interface_views (contract_id, "offset", interface_pk, view, status_code)
        select contract_id, "offset", 100, payload, 0 from contracts where template_pk <= 4`);
    await database.query(`call pqs.create_index_for_contract('contracts_n', 'big:M:T1', 'payload->>''n''', 'btree')`);
    await database.query('vacuum analyze');
    await database.query('set search_path = pqs');
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });

  /** The part of the plan that finds templates; the other parts are for interfaces and for the past. */
  async function firstPart(sql: string): Promise<string> {
    return (await database.plan(sql)).split('"*SELECT* 2"')[0] ?? '';
  }

  it('reads what is active now from the index of live rows, and joins nothing that is not asked for', async () => {
    const plan = await firstPart(`select contract_id, payload from active('big:M:T1')`);
    expect(plan).toContain('using lifetimes_live');
    expect(plan).toContain('using contracts_template_offset');
    expect(plan).not.toMatch(/updates|templates t|synchronizers|packages|exercises/);
  });

  it('reads no ended row for what is active now', async () => {
    const plan = await database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, costs off, timing off) select contract_id from active('big:M:T1')`,
    );
    const ended = plan.map((row) => row['QUERY PLAN']).filter((line) => line.includes('lifetimes_ended'));
    expect(ended).toHaveLength(1);
    expect(ended[0]).toContain('never executed');
  });

  it('reads the past by classes of lifetimes', async () => {
    const plan = await database.plan(`select contract_id from active('big:M:T1', ${count / 2})`);
    expect(plan).toMatch(/using lifetimes_ended[^\n]*\n\s*Index Cond: [^\n]*class\.class/);
  });

  it.each(["contract_id = md5('4711')", `payload->>'n' = '4711'`])('goes by the index for %s', async (condition) => {
    const plan = await firstPart(`select contract_id from active('big:M:T1') where ${condition}`);
    expect(plan).toMatch(condition.startsWith('payload') ? /using contracts_n/ : /using (contracts|lifetimes)_pkey/);
    expect(plan).not.toContain('Seq Scan');
  });

  it('goes by (template_pk, "offset") for a range', async () => {
    const plan = await firstPart(`select contract_id from creates('big:M:T1', 100, 200) where created_at_offset > 150`);
    expect(plan).toMatch(/using contracts_template_offset[^\n]*\n\s*Index Cond: [^\n]*"offset" > 150/);
  });

  it('goes by (choice_pk, "offset") and by the contract for exercises', async () => {
    expect(await database.plan(`select contract_id from exercises('big:M:T0:Archive', 100, 200)`)).toMatch(
      /exercises_choice_offset|exercises_pkey/,
    );
    expect(await database.plan(`select choice from lookup_exercises(md5('4711'))`)).toContain('exercises_contract');
  });

  it('finds at any offset what a scan finds', async () => {
    for (const offset of [0, 1, 2, 3, 63, 64, 65, 1000, 9_999, 10_000, 19_950, 19_999, 20_000]) {
      const found = await database.query(`select contract_id from active('big:M:T3', $1) order by 1`, [offset]);
      expect(found, `at ${String(offset)}`).toEqual(await database.query(activeByScan, ['T3', offset]));
      const views = await database.query(`select count(*) from active('Holding', $1)`, [offset]);
      const scanned = await database.query(
        `select count(*) from ledger.interface_views v join ledger.lifetimes l on l.contract_id = v.contract_id
          where l.activated_offset <= $1 and (l.deactivated_offset is null or l.deactivated_offset > $1)`,
        [offset],
      );
      expect(views).toEqual(scanned);
    }
  });
});

describe('random histories with reassignments', () => {
  it.each([1, 2])('number %d: active at every offset is what a scan finds', async (seed) => {
    await using database = await createReadDatabase();
    await database.write(...randomHistory(seed, 80));
    await database.query('set search_path = pqs');
    for (let offset = 0; offset <= 80; offset += 1) {
      for (const name of ['A', 'B', 'C']) {
        const known = await database.query(`select from ledger.templates where entity_name = $1`, [name]);
        if (known.length === 0) continue;
        const found = await database.query(
          `select contract_id from active($1, $2) where payload_type = 'template' order by 1`,
          [name, offset],
        );
        expect(found, `${name} at ${String(offset)}`).toEqual(await database.query(activeByScan, [name, offset]));
      }
    }
    const [sums] = await database.query(
      `select (select sum(count) from summary_creates() where payload_type = 'template')::int as creates,
              (select count(*) from ledger.contracts where origin <> 'assign')::int as stored,
              (select sum(count) from summary_archives() where payload_type = 'template')::int as archives,
              (select count(*) from ledger.lifetimes l join ledger.updates u on u."offset" = l.deactivated_offset
                where u.kind = 'transaction')::int as ended`,
    );
    expect(sums?.['creates']).toBe(sums?.['stored']);
    expect(sums?.['archives']).toBe(sums?.['ended']);
  });
});
