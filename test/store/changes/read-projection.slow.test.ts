/** Pages of projections contain every row of the view once, with the same ids whether rows are stored or computed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Change, ChangesRequest } from '../../../src/model/push/changes.ts';
import { readChanges } from '../../../src/store/changes/read-changes.ts';
import { contentsSql, UserWorld } from '../../projections/users/world.ts';
import { withDatabase } from '../../projections/projected.ts';
import { query } from '../../support/database.ts';

const builtIns = [
  'token_holding_events',
  'token_transfer_steps',
  'token_changes',
  'token_transfers',
  'token_discrepancies',
  'traffic_purchases',
  'amulet_transfers',
  'ended_reward_coupons',
  'traffic_costs',
];
/** Several equal rows of each offset, without a key and without node_id. */
const equalRowsSql = `select e."offset", e.event_type from explore.events e cross join generate_series(1, 2) g
  where e."offset" > :from and e."offset" <= :to`;
/** The history of the test has no such rows. */
const withoutRows = new Set(['token_discrepancies', 'token_transfer_steps', 'traffic_purchases']);
const names = [...builtIns, 'contents', 'equal_rows'];
const ofEvents: ChangesRequest = {
  after: { offset: 0, node: null },
  template: null,
  party: null,
  eventTypes: [],
  role: null,
};
let user: UserWorld;
/** Pages of computed rows, by projection, read before any row was stored. */
const computed = new Map<string, readonly Change[]>();

function readAll(projection: string, rows: number, characters?: number): Promise<readonly Change[]> {
  return withDatabase(user.url, async (database) => {
    const changes: Change[] = [];
    for (let { after } = ofEvents; ;) {
      const page = await readChanges(database, { ...ofEvents, projection, after }, rows, characters);
      expect(page.changes.length).toBeLessThanOrEqual(rows);
      changes.push(...page.changes);
      after = page.next;
      if (page.atEnd) return changes;
    }
  });
}

const schemaOf = (name: string): string => (builtIns.includes(name) ? 'explore' : 'derived');

beforeAll(async () => {
  user = await UserWorld.open(300);
  await user.add('contents', contentsSql);
  await user.add('equal_rows', equalRowsSql);
  for (const name of names) computed.set(name, await readAll(name, 1_000));
  await user.fill();
  // The last offsets are computed again, and one in the middle.
  const changed = `select int8range((select "offset" from ledger.updates order by "offset" offset $1 limit 1), $2)`;
  for (const [skipped, end] of [
    [280, 'null'],
    [100, '(select "offset" + 1 from ledger.updates order by "offset" offset 101 limit 1)'],
  ] as const) {
    await query(
      user.url,
      `insert into ledger.projection_changes (offsets) ${changed.replace('$1', String(skipped)).replace('$2', end)}`,
    );
  }
  // The stored rows of changed offsets are outdated.
  for (const name of names) {
    const table = builtIns.includes(name) ? `ledger.projected_${name}` : `derived."${name}$1"`;
    await query(user.url, `delete from ${table} t using ledger.projection_changes c where c.offsets @> t."offset"`);
  }
});
afterAll(() => user.close());

describe('a page of a projection', () => {
  it.each(names)('of %s has the rows of the view, in the order of their offsets', async (name) => {
    const changes = await readAll(name, 1_000);
    const view = await query(
      user.url,
      `select row_to_json(v)::text as json from ${schemaOf(name)}.${name} v order by v."offset"`,
    );
    expect(changes.map(({ json }) => json).sort()).toEqual(view.map(({ json }) => String(json)).sort());
    const offsets = changes.map(({ offset }) => offset);
    expect(offsets).toEqual(offsets.toSorted((left, right) => left - right));
    expect(changes.length > 0).toBe(!withoutRows.has(name));
  });

  it.each(names)('of %s has the same ids for stored rows, computed rows and small pages', async (name) => {
    const stored = await readAll(name, 1_000);
    expect(stored).toEqual(computed.get(name));
    expect(await readAll(name, 23)).toEqual(stored);
    expect(await readAll(name, 1_000, 20_000)).toEqual(stored);
    expect(new Set(stored.map(({ offset, node }) => `${String(offset)}-${String(node)}`)).size).toBe(stored.length);
  });

  it('has the update of each row', async () => {
    const [row] = await withDatabase(
      user.url,
      async (database) => (await readChanges(database, { ...ofEvents, projection: 'equal_rows' }, 1)).changes,
    );
    const [update] = await query(
      user.url,
      `select update_id as id, to_json(record_time) #>> '{}' as time from explore.updates where "offset" = ${String(row?.offset)}`,
    );
    expect(row?.update).toEqual({ id: update?.['id'], recordTime: update?.['time'] });
  });
});
