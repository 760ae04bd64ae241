/** Contracts that move between synchronizers: schema `pqs_multisync` returns the same on Citus and on plain Postgres. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { movingContracts } from '../read/pqs/multisync-model.ts';
import { needs } from '../support/skips/needs.ts';
import { citusPlace, citusUrl, noCitus, plainPlace, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

const { frames: history } = movingContracts(12, 24);
const half = Math.floor(history.length / 2);

let places: readonly [plain: CitusPlace, distributed: CitusPlace];
beforeAll(async () => {
  if (citusUrl === undefined) return;
  places = [await plainPlace('citus_history'), await citusPlace(citusUrl, 'citus_history', 4)];
  for (const place of places) {
    await place.write(history, 6);
    // Each server stored the rows at its own time.
    await place.query(`update batches set indexed_at = '2026-01-01Z'`);
    await place.query(`set time zone 'UTC'; set search_path to citus_history_pqs_multisync, citus_history_pqs`);
  }
});
afterAll(async () => {
  for (const place of places ?? []) await place[Symbol.asyncDispose]();
});

/** Statements about all contracts, or those of one template or interface; without an order. */
const about = (name: string): readonly string[] => [
  `select * from active(${name})`,
  `select * from active(${name}, ${half})`,
  `select contract_id, stakeholders(a), payload_with_nulls(a) from active(${name}) a`,
  `select template_fqn, synchronizer_id, count(*) from active(${name}) group by 1, 2`,
  `select a.contract_id, c.created_at_offset from active(${name}) a join creates(${name}) c using (contract_id)`,
  `select * from creates(${name})`,
  `select * from creates(${name}, 5, ${half})`,
  `select * from archives(${name})`,
  `select * from archives(${name}, 5, ${half})`,
  `select l.* from (select distinct contract_id from creates(${name})) c, lateral lookup_contract(c.contract_id, ${name}) l`,
];
const statements = [
  ...['null', `'Iou'`, `'Holding'`, `'None'`].flatMap(about),
  ...[0, 1, 24].map((contract) => `select * from lookup_contract('00c${contract}')`),
  `select * from active(null, ${history.length + 1})`,
  'select * from summary_active()',
  `select * from summary_active(${half})`,
  'select * from summary_transients()',
  `select * from summary_transients(5, ${half})`,
  `select * from summary_reassignments(5, ${half})`,
  'select c.*, t.entity_name from __contracts c join __contract_tpe t on t.pk = c.tpe_pk',
  'select r.*, e.type as event from __reassignments r join __events e on e.pk = r.reassign_event_pk',
  'select a.contract_id, t.* from active() a join transactions t on t.ix = coalesce(a.created_at_ix, a.assigned_at_ix)',
];

it.each(statements)('the result on Citus equals the result on plain Postgres: %s', needs(noCitus), async (sql) => {
  const [plain, distributed] = await Promise.all(places.map((place) => resultOf(place, sql)));
  expect(distributed).toEqual(plain);
});

it('more than 35 of the pqs_multisync statements return rows', needs(noCitus), async () => {
  const results = await Promise.all(statements.map((sql) => resultOf(places[0], sql)));
  expect(results.filter((result) => typeof result !== 'string' && result.length > 0).length).toBeGreaterThan(35);
});

/** Sorted rows, or the message of the error. */
async function resultOf(place: CitusPlace, sql: string): Promise<string | readonly string[]> {
  try {
    return (await place.query(sql)).map((row) => JSON.stringify(row)).toSorted();
  } catch (thrown) {
    return String(thrown);
  }
}
