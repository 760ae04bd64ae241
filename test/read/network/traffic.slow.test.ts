/**
 * Tests bought and paid traffic with frames of each special case: merges, purchases that are only partly visible, and
 * package versions.
 */
import { beforeEach, afterEach, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { identity } from '../../support/schemas.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, foreign, gone, made, olderPackageId, summary } from './network-frames.ts';

const entity = 'DecentralizedSynchronizer:MemberTraffic';
const rules = 'AmuletRules:AmuletRules';
const ownMember = `PAR::${identity.participantId}`;
const validator = 'validator::1220aa';

let database: ReadDatabase;
let offset = 0;
beforeEach(async () => {
  offset = 0;
  database = await createReadDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

async function update(events: frames.Json[], change: frames.JsonRecord = {}): Promise<void> {
  offset += 1;
  await database.write(frames.transaction(offset, events, change));
}

interface Total {
  readonly bytes: string;
  readonly amulet?: string;
  readonly usd?: string;
  readonly count?: string;
  readonly member?: string;
  readonly migration?: string;
}

function traffic({
  bytes,
  amulet = '1.0',
  usd: usdAmount = '0.1',
  count = '1',
  member = ownMember,
  migration = '0',
}: Total) {
  return {
    dso,
    memberId: member,
    synchronizerId: frames.here,
    migrationId: migration,
    totalPurchased: bytes,
    numPurchases: count,
    amuletSpent: amulet,
    usdSpent: usdAmount,
  };
}

/** The exercise that buys traffic. Its contract follows it. */
function bought(bytes: string, amuletPaid: string, last: number, member = ownMember): frames.JsonRecord {
  return exercisedEvent('00rules', rules, 'AmuletRules_BuyMemberTraffic', {
    by: [validator],
    last,
    argument: {
      provider: validator,
      memberId: member,
      synchronizerId: frames.here,
      migrationId: '0',
      trafficAmount: bytes,
      expectedDso: dso,
    },
    result: { round: { number: '7' }, summary: summary(), amuletPaid, purchasedTraffic: '00t' },
  });
}

const purchases = (): Promise<readonly object[]> =>
  database.query(
    `select "offset"::int, dso, member_id, migration_id::int as migration, purchases::int, bytes, amulet_burnt, usd_burnt, provider, round::int
       from explore.traffic_purchases order by 1, member_id`,
  );
const row = (index: number, bytes: string, amulet: string | null, overrides: object = {}): object => ({
  offset: index,
  dso,
  member_id: ownMember,
  migration: 0,
  purchases: 1,
  bytes,
  amulet_burnt: amulet,
  usd_burnt: '0.1',
  provider: null,
  round: null,
  ...overrides,
});

it('traffic_purchases counts a purchase once if its contract, its choice or both are visible', async () => {
  const amulet = '1234567890123456789012345678.0123456789';
  await update([bought('2000000', amulet, 1), made('00t1', entity, traffic({ bytes: '2000000', amulet }), 1)]);
  // A purchase by a transfer with a memo, without a choice of the amulet rules.
  await update([made('00t2', entity, traffic({ bytes: '3000000', amulet: '2.5' }))]);
  // A purchase as a reader sees it that is not a stakeholder of the contract.
  await update([bought('4000000', '3.5', 0)]);
  // A purchase as a reader sees it that is only a witness of the contract.
  await update([bought('9', '0.1', 1), made('00t4', entity, traffic({ bytes: '9' }), 1, { acsDelta: false })]);
  expect(await purchases()).toEqual([
    row(1, '2000000', amulet, { provider: validator, round: 7 }),
    row(2, '3000000', '2.5'),
    row(3, '4000000', '3.5', { usd_burnt: null, provider: validator, round: 7 }),
    row(4, '9', '1.0', { provider: validator, round: 7 }),
  ]);
});

it('traffic_purchases excludes merges of contracts, even in an update that buys traffic', async () => {
  await update([made('00a', entity, traffic({ bytes: '10' }))]);
  await update([made('00b', entity, traffic({ bytes: '20', amulet: '2.0' }))]);
  const merged = traffic({ bytes: '30', amulet: '3.0', usd: '0.2', count: '2' });
  await update([gone('00a', entity, 0), gone('00b', entity, 1), made('00c', entity, merged, 2)]);
  // A merge of one contract, and a separate purchase.
  await update([
    gone('00c', entity, 0),
    made('00d', entity, merged, 1),
    made('00e', entity, traffic({ bytes: '5' }), 2),
  ]);
  // A purchase that is merged in the same update. The intermediate contract was never active.
  const trafficRow = traffic({ bytes: '42', amulet: '5.0', usd: '0.4', count: '4' });
  await update([
    made('00f', entity, traffic({ bytes: '7' }), 0, { acsDelta: false }),
    exercisedEvent('00f', entity, 'Archive', { consuming: true, nodeId: 1 }),
    gone('00d', entity, 2),
    gone('00e', entity, 3),
    made('00g', entity, trafficRow, 4),
  ]);
  expect(await purchases()).toEqual([row(1, '10', '1.0'), row(2, '20', '2.0'), row(4, '5', '1.0'), row(5, '7', '1.0')]);
  expect(
    await database.query(
      `select bytes_bought, purchases::int, amulet_burnt, usd_burnt, indexed_bytes_bought from explore.traffic_members`,
    ),
  ).toEqual([{ bytes_bought: '42', purchases: 4, amulet_burnt: '5.0', usd_burnt: '0.4', indexed_bytes_bought: '42' }]);
});

it('traffic_purchases reads all package versions and ignores packages with other names', async () => {
  const { usdSpent: _, ...untypedTraffic } = traffic({ bytes: '10' });
  await update([made('00a', entity, untypedTraffic, 0, { packageId: olderPackageId })]);
  await update([made('00b', entity, traffic({ bytes: '20' }))]);
  await update([
    made('00x', entity, traffic({ bytes: '1000' }), 0, { packageId: foreign, packageName: 'not-splice-amulet' }),
  ]);
  await update([made('00y', entity, { ...traffic({ bytes: '30' }), dso: 'Mallory::1220ee' })]);
  expect(await purchases()).toEqual([
    row(1, '10', '1.0', { usd_burnt: null }),
    row(2, '20', '1.0'),
    row(4, '30', '1.0', { dso: 'Mallory::1220ee' }),
  ]);
  expect(await database.query(`select distinct package_name from explore.contracts order by 1`)).toEqual([
    { package_name: 'not-splice-amulet' },
    { package_name: 'splice-amulet' },
  ]);
});

it('bytes_left_at_most is bought minus paid and rejected bytes, for this participant only', async () => {
  const { recordTime } = frames;
  await update([made('00a', entity, traffic({ bytes: '5000' }))], { paidTrafficCost: 1_200 });
  await update([made('00b', entity, traffic({ bytes: '7000', member: 'PAR::other::1220' }))], { paidTrafficCost: 300 });
  await update([made('00c', entity, traffic({ bytes: '1' }))], { paidTrafficCost: null });
  await update([exercisedEvent('00x', entity, 'X')], {
    paidTrafficCost: 9_999,
    synchronizerId: frames.there,
    recordTime,
  });
  await database.query(
    `insert into completions ("offset", status_code, submitters_key, paid_traffic_cost, synchronizer_id)
     values (90, 10, '', 30, '${frames.here}'), (91, 0, '', 40, '${frames.here}'), (92, 9, '', 50, '${frames.there}')`,
  );
  const members = `select member_id, migration_id::int as migration, bytes_bought, bytes_paid, bytes_rejected, bytes_left_at_most
                     from explore.traffic_members order by member_id, migration_id`;
  const otherMember = { member_id: 'PAR::other::1220', migration: 0, bytes_bought: '7000' };
  expect(await database.query(members)).toEqual([
    { ...otherMember, bytes_paid: null, bytes_rejected: null, bytes_left_at_most: null },
    {
      member_id: ownMember,
      migration: 0,
      bytes_bought: '5001',
      bytes_paid: '1500',
      bytes_rejected: '30',
      bytes_left_at_most: '3471',
    },
  ]);
  await update([made('00d', entity, traffic({ bytes: '6', migration: '1' }))], { paidTrafficCost: null });
  const paidTraffic = { bytes_paid: '1500', bytes_rejected: '30', bytes_left_at_most: null };
  expect((await database.query(members)).slice(1)).toEqual([
    { member_id: ownMember, migration: 0, bytes_bought: '5001', ...paidTraffic },
    { member_id: ownMember, migration: 1, bytes_bought: '6', ...paidTraffic },
  ]);
});

it('traffic_purchases excludes contracts that a prune retained', async () => {
  await update([made('00a', entity, traffic({ bytes: '10' }))]);
  await update([gone('00a', entity, 0), made('00b', entity, traffic({ bytes: '10' }), 1)]);
  await update([made('00c', entity, traffic({ bytes: '3' }))]);
  await database.query(
    `delete from ended; delete from contracts where "offset" = 1; update stream set pruned_to_offset = 2`,
  );
  expect(await purchases()).toEqual([row(3, '3', '1.0')]);
});

it('traffic_costs returns the cost of each update, attributed to its first event', async () => {
  await update([exercisedEvent('00x', rules, 'AmuletRules_Transfer', { last: 1 }), gone('00y', 'Amulet:Amulet', 1)], {
    paidTrafficCost: 700,
    workflowId: 'pay',
  });
  await update(
    [made('00a', entity, traffic({ bytes: '1' })), exercisedEvent('00x', rules, 'AmuletRules_Transfer', { nodeId: 1 })],
    {
      paidTrafficCost: 50,
      workflowId: '',
    },
  );
  await update([exercisedEvent('00x', rules, 'AmuletRules_Transfer')], { paidTrafficCost: null });
  await database.write(
    frames.reassignment((offset += 1), {
      JsUnassignedEvent: { value: frames.unassigned({ contractId: '00a', offset }) },
    }),
  );
  expect(
    await database.query(
      `select "offset"::int, workflow_id, package_name, split_part(template_fqn, ':', 3) as template, choice, acting_parties, bytes::int
         from explore.traffic_costs order by 1`,
    ),
  ).toEqual([
    {
      offset: 1,
      workflow_id: 'pay',
      package_name: 'splice-amulet',
      template: 'AmuletRules',
      choice: 'AmuletRules_Transfer',
      acting_parties: [dso],
      bytes: 700,
    },
    {
      offset: 2,
      workflow_id: null,
      package_name: 'splice-amulet',
      template: 'MemberTraffic',
      choice: null,
      acting_parties: null,
      bytes: 50,
    },
    {
      offset: 4,
      workflow_id: null,
      package_name: 'iou',
      template: 'Iou',
      choice: null,
      acting_parties: null,
      bytes: 7,
    },
  ]);
});
