/**
 * Tests rewards that are computed outside the ledger, with frames of each special case: both kinds, no kind, dry runs,
 * and every phase.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, foreign, gone, made, olderPackageId } from './network-frames.ts';

const app = 'app::1220aa';
const node = 'validator::1220cc';
const user = 'user::1220bb';
const coupon = 'Amulet:RewardCouponV2';
const calculate = 'Amulet.RewardAccountingV2:CalculateRewardsV2';
const batch = 'Amulet.RewardAccountingV2:ProcessRewardsV2';
const closedAt = '2026-10-01T10:00:00Z';
const lifetime = { microseconds: '129600000000' };

let database: ReadDatabase;
let offset = 0;
/** Writes an update one minute after the previous one. */
async function update(...events: frames.Json[]): Promise<void> {
  offset += 1;
  await database.write(frames.transaction(offset, events, { effectiveAt: timeOf(offset) }));
}
const timeOf = (minute: number): string => `2026-10-01T11:${String(minute).padStart(2, '0')}:00Z`;

const round = (number: number): frames.JsonRecord => ({ number: String(number) });
const coupons = (amount: string, overrides: object = {}): frames.JsonRecord => ({
  dso,
  provider: app,
  round: round(7),
  amount,
  expiresAt: '2026-11-01T00:00:00Z',
  providerIsObserver: true,
  ...overrides,
});

describe('reward coupons of both kinds', () => {
  beforeAll(async () => {
    offset = 0;
    database = await createReadDatabase();
    await update(
      // Coupons of an older package version without the field, with the field null, and with the field set.
      made('00none', coupon, coupons('1.5'), 0, { packageId: olderPackageId }),
      made('00null', coupon, coupons('2', { beneficiary: null, kind: null }), 1),
      made('00app', coupon, coupons('4', { kind: 'RewardKind_App', beneficiary: user }), 2),
      made('00val', coupon, coupons('8', { provider: node, kind: 'RewardKind_Validator' }), 3),
      made('00val2', coupon, coupons('16', { provider: node, beneficiary: user, kind: 'RewardKind_Validator' }), 4),
      made('00old', 'Amulet:AppRewardCoupon', { dso, provider: app, featured: true, amount: '32', round: round(7) }, 5),
      made('00v', 'Amulet:ValidatorRewardCoupon', { dso, user, amount: '64', round: round(7) }, 6),
      made(
        '00d',
        'Amulet:DevelopmentFundCoupon',
        {
          dso,
          beneficiary: user,
          fundManager: app,
          amount: '128',
          expiresAt: '2026-12-01T00:00:00Z',
          reason: 'r',
          mintAfter: '2026-11-15T12:00:00Z',
        },
        7,
      ),
      made(
        '00d0',
        'Amulet:DevelopmentFundCoupon',
        { dso, beneficiary: user, fundManager: app, amount: '256', expiresAt: '2026-12-01T00:00:00Z', reason: 'r' },
        8,
      ),
      made('00x', coupon, coupons('512', { kind: 'RewardKind_Validator' }), 9, {
        packageId: foreign,
        packageName: 'not-splice-amulet',
      }),
    );
    const argument = { transfer: { sender: node, provider: node, inputs: [], outputs: [] } };
    await update(
      exercisedEvent('00rules', 'AmuletRules:AmuletRules', 'AmuletRules_Transfer', { by: [node], last: 1, argument }),
      gone('00val', coupon, 1),
    );
  });
  afterAll(() => database[Symbol.asyncDispose]());

  it('have the rewarded party, and a provider only for app rewards', async () => {
    const rows = await database.query(
      `select contract_id, kind, reward_kind, party, provider, worth, status, mint_after from explore.reward_coupons order by 1`,
    );
    const row = (
      contract_id: string,
      kind: string,
      reward_kind: string | null,
      party: string,
      provider: string | null,
      couponWorth: string | null,
      overrides: object = {},
    ) => ({
      contract_id,
      kind,
      reward_kind,
      party,
      provider,
      worth: couponWorth,
      status: 'active',
      mint_after: null,
      ...overrides,
    });
    expect(rows).toEqual([
      row('00app', 'traffic', 'app', user, app, '4.0000000000'),
      row('00d', 'development', null, user, null, '128.0000000000', { mint_after: new Date('2026-11-15T12:00:00Z') }),
      row('00d0', 'development', null, user, null, '256.0000000000'),
      row('00none', 'traffic', 'app', app, app, '1.5000000000'),
      row('00null', 'traffic', 'app', app, app, '2.0000000000'),
      row('00old', 'app', null, app, app, null),
      row('00v', 'validator', null, user, null, null),
      row('00val', 'traffic', 'validator', node, null, '8.0000000000', { status: 'collected' }),
      row('00val2', 'traffic', 'validator', user, null, '16.0000000000'),
    ]);
  });

  it('are summed separately for each kind', async () => {
    const rows = await database.query(
      `select party, provider, kind, reward_kind, coupons::int, worth, collected::int
         from explore.rewards where kind = 'traffic' order by party, reward_kind`,
    );
    expect(rows).toEqual([
      {
        party: app,
        provider: app,
        kind: 'traffic',
        reward_kind: 'app',
        coupons: 2,
        worth: '3.5000000000',
        collected: 0,
      },
      {
        party: user,
        provider: app,
        kind: 'traffic',
        reward_kind: 'app',
        coupons: 1,
        worth: '4.0000000000',
        collected: 0,
      },
      {
        party: user,
        provider: null,
        kind: 'traffic',
        reward_kind: 'validator',
        coupons: 1,
        worth: '16.0000000000',
        collected: 0,
      },
      {
        party: node,
        provider: null,
        kind: 'traffic',
        reward_kind: 'validator',
        coupons: 1,
        worth: '8.0000000000',
        collected: 1,
      },
    ]);
  });
});

describe('progress of reward rounds', () => {
  const batchOf = (number: number, overrides: object = {}): frames.JsonRecord => ({
    dso,
    round: round(number),
    roundClosedAt: closedAt,
    rewardCouponTimeToLive: lifetime,
    dryRun: false,
    ...overrides,
  });
  const validators = { kind: 'RewardKind_Validator' };
  beforeAll(async () => {
    offset = 0;
    database = await createReadDatabase();
    // Round 1: apps are processed in two steps of batches, and validators wait for a result. Round 2 is in progress.
    // Round 3 is a dry run.
    await update(
      made('00closed', 'Round:ClosedMiningRound', { dso, round: round(1) }, 0),
      made('00c1a', calculate, batchOf(1), 1),
      made('00c1v', calculate, batchOf(1, validators), 2),
    );
    await update(
      made('00c2v', calculate, batchOf(2, validators)),
      made('00c3', calculate, batchOf(3, { dryRun: true, kind: 'RewardKind_App' }), 1),
      made('00open', 'Round:OpenMiningRound', { dso, round: round(2) }, 2),
    );
    await update(gone('00c1a', calculate, 0), made('00b', batch, batchOf(1, { batchHash: 'h' }), 1));
    await update(
      gone('00b', batch, 0),
      made('00b1', batch, batchOf(1, { batchHash: 'h1' }), 1),
      made('00b2', batch, batchOf(1, { batchHash: 'h2' }), 2),
    );
    await update(gone('00b1', batch, 0), gone('00c2v', calculate, 1), made('00e', batch, batchOf(2, validators), 2));
    await update(gone('00b2', batch, 0), gone('00c3', calculate, 1));
  });
  afterAll(() => database[Symbol.asyncDispose]());

  it('is separate for app and validator rewards', async () => {
    const rows = await database.query(
      `select round::int, reward_kind, is_dry_run, status, calculated_at, processed_at, batches::int, batches_left::int,
              round_closed_at, coupon_lifetime::text, last_offset::int
         from explore.reward_rounds order by round, reward_kind`,
    );
    const row = (number: number, reward_kind: string, status: string, overrides: object): object => ({
      round: number,
      reward_kind,
      is_dry_run: false,
      status,
      calculated_at: null,
      processed_at: null,
      batches: 0,
      batches_left: 0,
      round_closed_at: new Date(closedAt),
      coupon_lifetime: '36:00:00',
      ...overrides,
    });
    expect(rows).toEqual([
      row(1, 'app', 'processed', {
        calculated_at: new Date(timeOf(3)),
        processed_at: new Date(timeOf(6)),
        batches: 3,
        last_offset: 6,
      }),
      row(1, 'validator', 'calculating', { last_offset: 1 }),
      row(2, 'validator', 'processing', {
        calculated_at: new Date(timeOf(5)),
        batches: 1,
        batches_left: 1,
        last_offset: 5,
      }),
      row(3, 'app', 'archived', { is_dry_run: true, calculated_at: new Date(timeOf(6)), last_offset: 6 }),
    ]);
  });

  it('is included in mining_rounds, except for dry runs', async () => {
    const rows = await database.query(
      `select round::int, status, app_rewards_status as apps, validator_rewards_status as validators
         from explore.mining_rounds order by 1`,
    );
    expect(rows).toEqual([
      { round: 1, status: 'closed', apps: 'processed', validators: 'calculating' },
      { round: 2, status: 'open', apps: null, validators: 'processing' },
    ]);
  });

  it('is not read by queries of mining_rounds that do not select it', async () => {
    const plan = await database.plan('select round, status, issuance_per_sv_coupon from explore.mining_rounds');
    expect(plan).not.toContain('dryRun');
    expect(await database.plan('select round, app_rewards_status from explore.mining_rounds')).toContain('dryRun');
  });
});
