/** A filter extension with history yields the same rows as an index that began with the wider filter. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { authorize } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import { ReassignmentDriver } from '../switch-participant/network.ts';
import { query } from '../support/database.ts';
import { differences } from '../support/extended-filter.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld } from './history-run.ts';
import { differingRows } from './interface-world.ts';
import { waitForHistory } from './extend-filter-world.ts';

let world: HistoryWorld;
let someParties: readonly string[];
beforeEach(async () => {
  world = await HistoryWorld.open(120);
  someParties = world.sandbox.ledger.localParties().slice(-3);
});
afterEach(() => world.close());

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();
const startEnv = { INDEXER_START: 'genesis', INDEXER_RETRY_MAX_DELAY: '300ms' };
const extend = 'filter extend --yes --with-history --rate 4000';

/** Stored rows by position and content. Omits the columns that may contain more data under a wider filter. */
async function storedContracts(): Promise<readonly string[]> {
  const rows = ['updates', 'contracts', 'exercises', 'reassignments', 'topology_events', 'interface_views'].map(
    (name) =>
      `select '${name} ' || (to_jsonb(t) - '{parties_pk,event_count,command_id,paid_traffic_cost,acs_delta}'::text[])::text as row from ledger.${name} t`,
  );
  return (await query(url(), rows.join(' union all '))).map(({ row }) => String(row));
}

/** Redacts an ended contract and an exercise that only the wider filter includes. */
async function redact(schemas: readonly string[]): Promise<readonly string[]> {
  const [contract] = await query(
    url(),
    `select fresh.id_text(e.contract_id) as id from fresh.ended e
      where not exists (select from ledger.contracts c where c.contract_id = e.contract_id) order by "offset" limit 1`,
  );
  const [exercise] = await query(
    url(),
    `select e."offset", e.node_id, fresh.id_text(u.update_id) as update_id
       from fresh.exercises e join fresh.updates u using ("offset")
      where not exists (select from ledger.exercises c where c."offset" = e."offset" and c.node_id = e.node_id)
      order by "offset" desc limit 1`,
  );
  const id = String(contract?.['id']);
  const { offset, node_id: node, update_id: update } = exercise ?? {};
  for (const schema of schemas) {
    await query(
      url(),
      `insert into ${schema}.redactions (redaction_id, subject, contract_id, reason, requested_by) values ('r', 'contract', '${id}', 'requested', 'test');
       insert into ${schema}.redacted_contracts values ('${id}', 'r', true);
       insert into ${schema}.redacted_exercises values (${String(offset)}, ${String(node)}, '${String(update)}', 'r')`,
    );
  }
  return [id, String(offset)];
}

it('filter extend --with-history stores the rows of a fresh index with the wider filter', async () => {
  const previousOptions = { ...startEnv, LEDGER_PARTIES: someParties.join() };
  // A contract that only the wider filter includes is active on the same synchronizer twice. The first time spans two
  // ranges.
  const contract = new ReassignmentDriver(world.sandbox.ledger);
  for (const stepOffset of [130, 1, 1, 1, 1, 1]) {
    contract.step(world.sandbox.ledger.clock());
    world.grow(stepOffset);
  }
  await using indexer = await world.run('ledger', previousOptions);
  authorize(world.sandbox.ledger, world.sandbox.ledger.localParties()[0] ?? '', false);
  world.grow(40);
  await indexer.reaches(end());
  await world.index('fresh', startEnv);
  const [redactedContract = '', exercisedRedaction = ''] = await redact(['ledger']);
  const storedBefore = await storedContracts();
  expect((await differingRows(url(), 'ledger', 'fresh')).length).toBeGreaterThan(0);
  expect(await world.command('filter extend --with-history', 'ledger', startEnv)).toContain(
    'earlier history is added afterwards',
  );
  await world.command('filter extend --yes --with-history --rate 120', 'ledger', startEnv);
  world.grow(40);
  await waitForHistory(url());
  world.grow(20);
  await indexer.reaches(end());
  expect((await indexer.status()).state).toBe('live');
  await world.index('fresh', startEnv);
  expect(await world.broken()).toEqual([]);
  // The offboarded party has contracts, also from before the extension.
  const unhostedSql =
    'select from ledger.live where unhosted_since is not null union all select from ledger.ended where unhosted_since is not null';
  expect((await query(url(), unhostedSql)).length).toBeGreaterThan(0);
  const now = new Set(await storedContracts());
  expect(storedBefore.filter((row) => !now.has(row)).slice(0, 5)).toEqual([]);
  expect(
    await query(
      url(),
      `select c.payload is null as gone, c.redaction_id from ledger.contracts c where ledger.id_text(c.contract_id) = '${redactedContract}'
       union all
       select bool_or(e.argument is null and e.redaction_id = 'r'), 'r' from ledger.exercises e where e."offset" = ${exercisedRedaction}`,
    ),
  ).toEqual([
    { gone: true, redaction_id: 'r' },
    { gone: true, redaction_id: 'r' },
  ]);
  const remainingDifferences = (await differingRows(url(), 'ledger', 'fresh')).filter(
    (row) => !row.includes(redactedContract) && !row.includes(`"offset": ${exercisedRedaction},`),
  );
  expect(remainingDifferences).toEqual([]);
});

it('filter extend --with-history adds history back to the pruned offset or the seed', async () => {
  const previousOptions = { INDEXER_RETRY_MAX_DELAY: '300ms', LEDGER_PARTIES: someParties.join() };
  const widerEnv = { INDEXER_RETRY_MAX_DELAY: '300ms' };
  await world.index('wholeseed', widerEnv);
  await world.index('seeded', previousOptions);
  await using seededIndexer = await world.run('seeded', previousOptions);
  await using indexer = await world.run('ledger', { ...previousOptions, INDEXER_START: 'genesis' });
  const seedOffset = end();
  world.grow(120);
  await world.index('fresh', { ...widerEnv, INDEXER_START: 'genesis' });
  const prunedOffset = seedOffset + 70;
  await Promise.all([indexer.reaches(end()), seededIndexer.reaches(end())]);
  await world.command(extend, 'seeded', widerEnv);
  await waitForHistory(url(), 'seeded');
  await world.index('wholeseed', widerEnv);
  world.sandbox.ledger.pruneTo(prunedOffset);
  await world.command(extend, 'ledger', { ...widerEnv, INDEXER_START: 'genesis' });
  await waitForHistory(url());
  world.grow(20);
  await Promise.all([indexer.reaches(end()), seededIndexer.reaches(end())]);
  await world.index('wholeseed', widerEnv);
  await world.index('fresh', { ...widerEnv, INDEXER_START: 'genesis' });
  expect(await differences(url(), 'seeded', 'wholeseed', seedOffset)).toEqual([]);
  expect(await differences(url(), 'ledger', 'fresh', prunedOffset)).toEqual([]);
  expect([...(await world.broken()), ...(await world.broken('seeded'))]).toEqual([]);
  const ranges = (schema: string) =>
    query(url(), `select from_offset::int, to_offset::int, origin, complete from ${schema}.coverage order by 1`);
  expect(await ranges('seeded')).toEqual([
    { from_offset: seedOffset, to_offset: null, origin: 'seed', complete: true },
  ]);
  expect(await ranges('ledger')).toEqual([
    { from_offset: 0, to_offset: prunedOffset, origin: 'genesis', complete: true },
    { from_offset: prunedOffset, to_offset: null, origin: 'filter-extend', complete: true },
  ]);
  const rangeSql = `select from_offset::int, complete_from::int from explore.filter_coverage where kind = 'party'`;
  expect(await query(url(), rangeSql)).toEqual([{ from_offset: prunedOffset, complete_from: prunedOffset }]);
  await waitFor('no hold is left', async () =>
    (await query(url(), 'select from ledger.retention_holds')).length === 0 ? true : undefined,
  );
}, 120_000);
