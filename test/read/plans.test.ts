/** Queries stay fast as history grows, because their plans use the intended indexes. The tests use 40,000 contracts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateHistory } from './generated-history.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

/** A full scan of a big table. No plan may contain one. */
const fullScan = /Seq Scan on (contracts|live|ended|exercises|updates|interface_views)( |$)/m;

describe('query plan', () => {
  let database: ReadDatabase;
  beforeAll(async () => {
    database = await createReadDatabase();
    await generateHistory(database, 40_000);
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });

  it.each([
    ['counting active contracts', `count(*) from explore.active('M:T3')`, ['live_template']],
    [
      'active contracts by id',
      `* from explore.active('T3') where contract_id = md5('9')`,
      ['live_contract', 'contracts_'],
    ],
    [
      'counting earlier active contracts',
      `count(*) from explore.active_at(20000, 'T3')`,
      ['live_template', 'ended_template'],
    ],
    [
      'earlier active contracts',
      `contract_id, payload from explore.active_at(900, 'T3')`,
      ['live_template', 'ended_template', 'contracts_'],
    ],
    [
      'active contracts of a template',
      `count(*) from explore.active_contracts where template_fqn = 'big:M:T3'`,
      ['live_template'],
    ],
    [
      'contracts by id',
      `* from explore.contracts where contract_id = md5('9')`,
      ['contracts_', 'live_contract', 'ended_contract'],
    ],
    [
      'contracts by offset',
      '* from explore.contracts where created_at_offset between 700 and 710',
      ['contracts_', 'live_contract', 'ended_contract', 'updates_pkey'],
    ],
    [
      'contracts by template and offset',
      `* from explore.contracts where template_fqn = 'big:M:T3' and created_at_offset > 39900`,
      ['contracts_template_offset'],
    ],
    ['exercises by offset', '* from explore.exercises where "offset" = 77', ['exercises_pkey']],
    ['exercises by contract', `* from explore.exercises where contract_id = md5('9')`, ['exercises_contract']],
    [
      'exercises by template and offset',
      `* from explore.exercises where template_fqn = 'big:M:T0' and "offset" > 39900`,
      ['exercises_'],
    ],
    ['updates by offset', '* from explore.updates where "offset" > 39990', ['updates_pkey']],
    ['events by offset', '* from explore.events where "offset" between 700 and 710', ['contracts_', 'exercises_pkey']],
    [
      'events by contract',
      `* from explore.events where contract_id = md5('9')`,
      ['live_contract', 'ended_contract', 'contracts_', 'exercises_contract'],
    ],
    [
      'events by template and offset',
      `* from explore.events where template_fqn = 'big:M:T3' and "offset" > 39900`,
      ['contracts_template_offset', 'exercises_'],
    ],
  ])('uses indexes and no full scan for %s', async (_caseName, sql, indexes) => {
    const plan = await database.plan(`select ${sql}`);
    expect(plan).not.toMatch(fullScan);
    for (const index of indexes) expect(plan).toContain(index);
  });

  it('omits tables whose columns are not selected', async () => {
    const plan = await database.plan(`select contract_id, payload, is_active from explore.contracts`);
    for (const table of ['updates', 'synchronizers']) expect(plan).not.toContain(table);
    const counting = await database.plan(`select count(*) from explore.active('T3')`);
    expect(counting).not.toContain('contracts');
  });

  it('reads about as many rows as active_at returns, at any offset', async () => {
    for (const offset of [1, 100, 5_000, 20_000, 39_999]) {
      const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
        `explain (analyze, format json, timing off) select count(*) from explore.active_at(${String(offset)}, 'T3')`,
      );
      const rowsReadCount = row === undefined ? 0 : rowsRead(row['QUERY PLAN'][0].Plan);
      const [countRow] = await database.query<{ count: number }>(
        `select count(*)::int as count from lifetimes where template_pk in (7, 8) and activated_offset <= ${String(offset)}
            and (deactivated_offset is null or deactivated_offset > ${String(offset)})`,
      );
      expect(rowsReadCount).toBeLessThan(2 * (countRow?.count ?? 0) + 50);
    }
  });
});

interface Node {
  readonly Plans?: readonly Node[];
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
}

/** Number of rows read from live and ended, including rows that a filter removed. */
function rowsRead(node: Node): number {
  const isLifetimesNode =
    node['Relation Name'] === 'live' || node['Relation Name'] === 'ended'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), isLifetimesNode);
}
