/** Contracts that move between synchronizers: schema `pqs_multisync` returns the same on Citus and on plain Postgres. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { movingContracts } from '../read/pqs/multisync-model.ts';
import { needs } from '../support/skips/needs.ts';
import { citusPlace, citusUrl, citusSkipReason, plainPlace, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

const { frames: history } = movingContracts(12, 24);
const middleIndex = Math.floor(history.length / 2);

let citusPlaces: readonly [plain: CitusPlace, distributed: CitusPlace];
beforeAll(async () => {
  if (citusUrl === undefined) return;
  citusPlaces = [await plainPlace('citus_history'), await citusPlace(citusUrl, 'citus_history', 4)];
  for (const citusSchema of citusPlaces) {
    await citusSchema.write(history, 6);
    // Each server stored the rows at its own time.
    await citusSchema.query(`update batches set indexed_at = '2026-01-01Z'`);
    await citusSchema.query(`set time zone 'UTC'; set search_path to citus_history_pqs_multisync, citus_history_pqs`);
  }
});
afterAll(async () => {
  for (const citusSchema of citusPlaces ?? []) await citusSchema[Symbol.asyncDispose]();
});

/** Statements about all contracts, or those of one template or interface; without an order. */
const multisyncSql = (name: string): readonly string[] => [
  `select * from active(${name})`,
  `select * from active(${name}, ${middleIndex})`,
  `select contract_id, stakeholders(a), payload_with_nulls(a) from active(${name}) a`,
  `select template_fqn, synchronizer_id, count(*) from active(${name}) group by 1, 2`,
  `select a.contract_id, c.created_at_offset from active(${name}) a join creates(${name}) c using (contract_id)`,
  `select * from creates(${name})`,
  `select * from creates(${name}, 5, ${middleIndex})`,
  `select * from archives(${name})`,
  `select * from archives(${name}, 5, ${middleIndex})`,
  `select l.* from (select distinct contract_id from creates(${name})) c, lateral lookup_contract(c.contract_id, ${name}) l`,
];
const statements = [
  ...['null', `'Iou'`, `'Holding'`, `'None'`].flatMap(multisyncSql),
  ...[0, 1, 24].map((contract) => `select * from lookup_contract('00c${contract}')`),
  `select * from active(null, ${history.length + 1})`,
  'select * from summary_active()',
  `select * from summary_active(${middleIndex})`,
  'select * from summary_transients()',
  `select * from summary_transients(5, ${middleIndex})`,
  `select * from summary_reassignments(5, ${middleIndex})`,
  'select c.*, t.entity_name from __contracts c join __contract_tpe t on t.pk = c.tpe_pk',
  'select r.*, e.type as event from __reassignments r join __events e on e.pk = r.reassign_event_pk',
  'select a.contract_id, t.* from active() a join transactions t on t.ix = coalesce(a.created_at_ix, a.assigned_at_ix)',
];

it.each(statements)(
  'the result on Citus equals the result on plain Postgres: %s',
  needs(citusSkipReason),
  async (sql) => {
    const [plainResult, distributedResult] = await Promise.all(
      citusPlaces.map((citusSchema) => resultOf(citusSchema, sql)),
    );
    expect(distributedResult).toEqual(plainResult);
  },
);

it('more than 35 of the pqs_multisync statements return rows', needs(citusSkipReason), async () => {
  const results = await Promise.all(statements.map((sql) => resultOf(citusPlaces[0], sql)));
  expect(results.filter((result) => typeof result !== 'string' && result.length > 0).length).toBeGreaterThan(35);
});

/** Sorted rows, or the message of the error. */
async function resultOf(citusSchema: CitusPlace, sql: string): Promise<string | readonly string[]> {
  try {
    return (await citusSchema.query(sql)).map((row) => JSON.stringify(row)).toSorted();
  } catch (error) {
    return String(error);
  }
}
