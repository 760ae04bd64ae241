/** On a ledger without the templates of the network, the network views return no rows and no errors. */
import { expect, it } from 'vitest';
import { createReadDatabase } from '../read-database.ts';

const views = [
  'mining_rounds',
  'reward_rounds',
  'featured_apps',
  'featured_app_locks',
  'traffic_purchases',
  'traffic_members',
  'traffic_costs',
  'traffic_runway',
  'traffic_cost_percentiles',
  'traffic_cost_outliers',
  'reward_coupons',
  'rewards',
  'app_activity_markers',
  'unclaimed_rewards',
  'validators',
  'validator_heartbeats',
  'amulet_transfers',
  'amulet_burns',
];

it('network views return no rows if their templates were never seen', async () => {
  await using database = await createReadDatabase();
  for (const view of views) expect(await database.query(`select * from explore.${view}`), view).toEqual([]);
});
