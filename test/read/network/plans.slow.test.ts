/**
 * The network views read only rows of the templates and choices of the network, even if there are many other
 * contracts.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { openSession } from '../../../src/store/write/session.ts';
import * as frames from '../../support/frames.ts';
import { identity } from '../../support/schemas.ts';
import { decodeUpdate } from '../../support/wire/decode.ts';
import { generateHistory } from '../generated-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, made } from './network-frames.ts';

const historySize = 40_000;
const rounds = 30;

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await generateHistory(database, historySize);
  // Creates as many choices as a real ledger has. With two choices, each would have half of all exercises.
  await database.query(
    `insert into choices select 2 + n, 1, 0, 'C' || n from generate_series(1, 38) n;
     update exercises set choice_pk = 1 + "offset" % 40`,
  );
  // This session begins after the rows were written, so that it uses the collected statistics.
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test plans' };
  const writer = openDatabase({ url: database.url, ...options });
  const session = await openSession(writer, identity);
  const batch = session.newBatch(historySize);
  const round = (number: number): frames.JsonRecord => ({ dso, round: { number: String(number) } });
  for (let preparedRound = 1; preparedRound <= rounds; preparedRound += 1) {
    const coupon = `00c${String(preparedRound)}`;
    const update = frames.transaction(historySize + preparedRound, [
      made(`00r${String(preparedRound)}`, 'Round:OpenMiningRound', round(preparedRound)),
      made(
        coupon,
        'Amulet:AppRewardCoupon',
        { ...round(preparedRound), provider: 'app', featured: true, amount: '1' },
        1,
      ),
      made(
        `00l${String(preparedRound)}`,
        'ValidatorLicense:ValidatorLicense',
        { dso, validator: `v${String(preparedRound)}` },
        2,
      ),
      made(
        `00t${String(preparedRound)}`,
        'DecentralizedSynchronizer:MemberTraffic',
        { dso, memberId: 'm', numPurchases: '1' },
        3,
      ),
      exercisedEvent(
        `00l${String(preparedRound)}`,
        'ValidatorLicense:ValidatorLicense',
        'ValidatorLicense_ReportActive',
        { nodeId: 4 },
      ),
      exercisedEvent('00rules', 'AmuletRules:AmuletRules', 'AmuletRules_Transfer', { nodeId: 5, last: 6 }),
      exercisedEvent(`00c${String(preparedRound - 1)}`, 'Amulet:AppRewardCoupon', 'Archive', {
        consuming: preparedRound > 1,
        nodeId: 6,
      }),
      exercisedEvent('00factory', 'ExternalPartyAmuletRules:ExternalPartyAmuletRules', 'TransferFactory_Transfer', {
        nodeId: 7,
      }),
    ]);
    batch.add(decodeUpdate(frames.text(update)));
  }
  await session.writeBatch(batch, historySize);
  await writer.close();
  // Transfers are frequent, but almost none of them buys traffic.
  await database.query(
    `update exercises set choice_pk = (select choice_pk from choices where choice = 'TransferFactory_Transfer')
      where "offset" <= ${String(historySize)} and choice_pk = 9`,
  );
  await database.query('analyze');
}, 120_000);
afterAll(() => database[Symbol.asyncDispose]());

interface Node {
  readonly Plans?: readonly Node[];
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
}

const largeTables = ['contracts', 'live', 'ended', 'exercises', 'archives', 'updates', 'interface_views'];

/** Number of rows read from the big tables, including rows that a filter removed. */
function rowsRead(node: Node): number {
  const isLargeTable = largeTables.includes(node['Relation Name'] ?? '')
    ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), isLargeTable);
}

it.each([
  ['mining_rounds', rounds],
  ['reward_rounds', 0],
  ['featured_apps', 0],
  ['featured_app_locks', 0],
  ['traffic_purchases', rounds],
  ['traffic_members', 1],
  ['reward_coupons', rounds],
  ['rewards', rounds],
  ['app_activity_markers', 0],
  ['unclaimed_rewards', 0],
  ['validators', rounds],
  ['validator_heartbeats', rounds],
  ['amulet_transfers', rounds],
  ['amulet_burns', rounds],
  [`traffic_costs where "offset" > ${String(historySize)}`, rounds],
])('explore.%s reads only rows of network templates', async (view, minimumRows) => {
  const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `explain (analyze, format json, timing off) select * from explore.${view}`,
  );
  const plan = row?.['QUERY PLAN'][0].Plan;
  if (plan === undefined) throw new Error('no plan');
  expect(plan['Actual Rows']).toBeGreaterThanOrEqual(view === 'amulet_burns' ? 0 : minimumRows);
  // A contract has a row in live or ended, one in contracts, and one for the exercise that ended it.
  expect(rowsRead(plan)).toBeLessThan(20 * rounds);
});
