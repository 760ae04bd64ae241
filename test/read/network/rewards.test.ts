/**
 * Tests coupons, rounds and collected rewards with frames of each special case: every kind, every ending, and both
 * package versions.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, foreign, gone, made, newerPackageId, olderPackageId } from './network-frames.ts';

const rules = 'AmuletRules:AmuletRules';
const app = 'app::1220aa';
const user = 'user::1220bb';
const validator = 'validator::1220cc';
const sv = 'sv::1220dd';
const round = { number: '7' };

let database: ReadDatabase;
let offset = 0;
async function update(...events: frames.Json[]): Promise<void> {
  offset += 1;
  await database.write(frames.transaction(offset, events));
}

/** Collects a coupon by a transfer of another party. */
async function collected(contractId: string, entity: string, sender: string, end = gone(contractId, entity, 1)) {
  const argument = { transfer: { sender, provider: sender, inputs: [], outputs: [] } };
  await update(exercisedEvent('00rules', rules, 'AmuletRules_Transfer', { by: [sender], last: 3, argument }), end);
}

const issuance = {
  issuancePerValidatorRewardCoupon: '0.2000000000',
  issuancePerFeaturedAppRewardCoupon: '1.5000000000',
  issuancePerUnfeaturedAppRewardCoupon: '0.6000000000',
  issuancePerSvRewardCoupon: '0.1500000000',
};

describe('reward coupons', () => {
  beforeAll(async () => {
    offset = 0;
    database = await createReadDatabase();
    await update(
      made('00issuing', 'Round:IssuingMiningRound', {
        dso,
        round,
        ...issuance,
        optIssuancePerValidatorFaucetCoupon: '2.85',
      }),
      // This package version has no rewards for liveness.
      made('00closed', 'Round:ClosedMiningRound', { dso, round: { number: '6' }, ...issuance }, 1, {
        packageId: olderPackageId,
      }),
    );
    const coupon = (amount: string, overrides: object = {}): frames.JsonRecord => ({
      dso,
      provider: app,
      featured: true,
      amount,
      round,
      ...overrides,
    });
    await update(
      made('00app', 'Amulet:AppRewardCoupon', coupon('10.0000000000')),
      made('00plain', 'Amulet:AppRewardCoupon', coupon('10.0000000000', { featured: false, beneficiary: user }), 1),
      made('00old', 'Amulet:AppRewardCoupon', coupon('10.0000000000'), 2, { packageId: olderPackageId }),
      made(
        '00v',
        'Amulet:ValidatorRewardCoupon',
        { dso, user, amount: '1234567890123456789012345678.0000000001', round },
        3,
      ),
      made('00live', 'ValidatorLicense:ValidatorLivenessActivityRecord', { dso, validator, round }, 4),
      made('00faucet', 'ValidatorLicense:ValidatorFaucetCoupon', { dso, validator, round: { number: '6' } }, 5),
      made('00sv', 'Amulet:SvRewardCoupon', { dso, sv, beneficiary: user, round, weight: '4000' }, 6),
      made(
        '00t',
        'Amulet:RewardCouponV2',
        { dso, provider: app, round, amount: '3.25', expiresAt: '2026-09-01T00:00:00Z', providerIsObserver: true },
        7,
      ),
      made(
        '00t2',
        'Amulet:RewardCouponV2',
        { dso, provider: app, round, amount: '4', expiresAt: '2026-09-01T00:00:00Z', providerIsObserver: true },
        8,
      ),
      made(
        '00u',
        'Amulet:UnclaimedActivityRecord',
        { dso, beneficiary: user, amount: '5', reason: 'r', expiresAt: '2026-09-01T00:00:00Z' },
        9,
      ),
      made(
        '00d',
        'Amulet:DevelopmentFundCoupon',
        { dso, beneficiary: user, fundManager: sv, amount: '6', expiresAt: '2026-09-01T00:00:00Z', reason: 'r' },
        10,
      ),
      made('00next', 'Amulet:AppRewardCoupon', coupon('10', { round: { number: '8' } }), 11),
    );
    // The reader is only a witness of this coupon, not a stakeholder.
    await update(made('00seen', 'Amulet:AppRewardCoupon', coupon('1'), 0, { acsDelta: false }));
    await update(
      made('00mine', 'Amulet:AppRewardCoupon', coupon('99'), 0, {
        packageId: foreign,
        packageName: 'not-splice-amulet',
      }),
      made('00fake', 'Amulet:AppRewardCoupon', { ...coupon('77'), dso: 'Mallory::1220ee' }, 1),
    );
    await collected('00app', 'Amulet:AppRewardCoupon', app);
    await collected(
      '00v',
      'Amulet:ValidatorRewardCoupon',
      validator,
      exercisedEvent('00v', 'Amulet:ValidatorRewardCoupon', 'ValidatorRewardCoupon_ArchiveAsValidator', {
        consuming: true,
        nodeId: 1,
        argument: { validator, rightCid: '00right' },
      }),
    );
    await collected('00live', 'ValidatorLicense:ValidatorLivenessActivityRecord', validator);
    await update(
      exercisedEvent('00rules', rules, 'AmuletRules_ClaimExpiredRewards', { last: 1 }),
      exercisedEvent('00old', 'Amulet:AppRewardCoupon', 'AppRewardCoupon_DsoExpire', { consuming: true, nodeId: 1 }),
    );
    await update(
      exercisedEvent('00rules', rules, 'AmuletRules_ClaimExpiredRewardsV2', { last: 2 }),
      gone('00t', 'Amulet:RewardCouponV2', 1),
      made('00lost', 'Amulet:UnclaimedReward', { dso, amount: '3.25' }, 2),
    );
    await update(
      exercisedEvent('00t2', 'Amulet:RewardCouponV2', 'RewardCoupon_AssignBeneficiaries', {
        consuming: true,
        last: 1,
        by: [app],
      }),
      made(
        '00t3',
        'Amulet:RewardCouponV2',
        {
          dso,
          provider: app,
          round,
          amount: '4',
          beneficiary: user,
          expiresAt: '2026-09-01T00:00:00Z',
          providerIsObserver: true,
        },
        1,
      ),
    );
    await update(
      exercisedEvent('00d', 'Amulet:DevelopmentFundCoupon', 'DevelopmentFundCoupon_Reject', {
        consuming: true,
        by: [user],
      }),
    );
  });
  afterAll(() => database[Symbol.asyncDispose]());

  it('are valued at the issuance of their round, rounded like the ledger', async () => {
    const rows = await database.query(
      `select contract_id, kind, party, provider, round::int, amount, issuance, worth from explore.reward_coupons
        where dso = '${dso}' order by contract_id`,
    );
    const row = (
      contract_id: string,
      kind: string,
      party: string,
      provider: string | null,
      number: number | null,
      ...couponColumns: (string | null)[]
    ) => ({
      contract_id,
      kind,
      party,
      provider,
      round: number,
      amount: couponColumns[0],
      issuance: couponColumns[1],
      worth: couponColumns[2],
    });
    expect(rows).toEqual([
      row('00app', 'app', app, app, 7, '10.0000000000', '1.5000000000', '15.0000000000'),
      row('00d', 'development', user, null, null, '6', '1', '6.0000000000'),
      row('00faucet', 'faucet', validator, null, 6, '1', null, null),
      row('00live', 'liveness', validator, null, 7, '1', '2.85', '2.8500000000'),
      row('00next', 'app', app, app, 8, '10', null, null),
      row('00old', 'app', app, app, 7, '10.0000000000', '1.5000000000', '15.0000000000'),
      row('00plain', 'app', user, app, 7, '10.0000000000', '0.6000000000', '6.0000000000'),
      row('00seen', 'app', app, app, 7, '1', '1.5000000000', '1.5000000000'),
      row('00sv', 'sv', user, null, 7, '4000', '0.1500000000', '600.0000000000'),
      row('00t', 'traffic', app, app, 7, '3.25', '1', '3.2500000000'),
      row('00t2', 'traffic', app, app, 7, '4', '1', '4.0000000000'),
      row('00t3', 'traffic', user, app, 7, '4', '1', '4.0000000000'),
      row('00u', 'unclaimed', user, null, null, '5', '1', '5.0000000000'),
      row(
        '00v',
        'validator',
        user,
        null,
        7,
        '1234567890123456789012345678.0000000001',
        '0.2000000000',
        '246913578024691357802469135.6000000000',
      ),
    ]);
  });

  it('have a status from the choice that archived the coupon', async () => {
    const rows = await database.query<{ contract_id: string; said: string }>(
      `select contract_id, concat_ws(' ', status, collected_by, archived_at_offset) as said from explore.reward_coupons where dso = '${dso}'`,
    );
    expect(Object.fromEntries(rows.map(({ contract_id, said: storedText }) => [contract_id, storedText]))).toEqual({
      '00app': `collected ${app} 5`,
      '00d': 'withdrawn 11',
      '00faucet': 'active',
      '00live': `collected ${validator} 7`,
      '00next': 'active',
      '00old': 'expired 8',
      '00plain': 'active',
      '00seen': 'witnessed',
      '00sv': 'active',
      '00t': 'expired 9',
      '00t2': 'replaced 10',
      '00t3': 'active',
      '00u': 'active',
      '00v': `collected ${validator} 6`,
    });
  });

  it('are summed once by party, app and round', async () => {
    const rows = await database.query(
      `select party, provider, round::int, kind, coupons::int, collected::int, expired::int, active::int, amount, worth, worth_collected, worth_expired
         from explore.rewards where dso = '${dso}' and provider is not null order by 1, 2, 3, 4`,
    );
    const commonFields = { provider: app, coupons: 1, collected: 0, expired: 0, active: 1 };
    expect(rows).toEqual([
      {
        ...commonFields,
        party: app,
        round: 7,
        kind: 'app',
        coupons: 2,
        collected: 1,
        expired: 1,
        active: 0,
        amount: '20.0000000000',
        worth: '30.0000000000',
        worth_collected: '15.0000000000',
        worth_expired: '15.0000000000',
      },
      {
        ...commonFields,
        party: app,
        round: 7,
        kind: 'traffic',
        expired: 1,
        active: 0,
        amount: '3.25',
        worth: '3.2500000000',
        worth_collected: '0',
        worth_expired: '3.2500000000',
      },
      {
        ...commonFields,
        party: app,
        round: 8,
        kind: 'app',
        amount: '10',
        worth: null,
        worth_collected: null,
        worth_expired: null,
      },
      {
        ...commonFields,
        party: user,
        round: 7,
        kind: 'app',
        amount: '10.0000000000',
        worth: '6.0000000000',
        worth_collected: '0',
        worth_expired: '0',
      },
      {
        ...commonFields,
        party: user,
        round: 7,
        kind: 'traffic',
        amount: '4',
        worth: '4.0000000000',
        worth_collected: '0',
        worth_expired: '0',
      },
    ]);
    expect(await database.query(`select amount, is_active from explore.unclaimed_rewards`)).toEqual([
      { amount: '3.25', is_active: true },
    ]);
  });

  it('keep the DSO of their contract, and exclude contracts of unrelated packages', async () => {
    const rows = await database.query(
      `select contract_id, dso, worth from explore.reward_coupons where dso <> '${dso}' or amount = 99`,
    );
    expect(rows).toEqual([{ contract_id: '00fake', dso: 'Mallory::1220ee', worth: null }]);
    expect(await database.query(`select package_name from explore.contracts where contract_id = '00mine'`)).toEqual([
      { package_name: 'not-splice-amulet' },
    ]);
  });
});

it('explore.ledger_product rounds half to even, like the ledger', async () => {
  await using ownDatabase = await createReadDatabase();
  const [row] = await ownDatabase.query(
    `select explore.ledger_product(0.00001, 0.0000050000) as even, explore.ledger_product(0.00001, 0.0000150000) as odd,
            explore.ledger_product(-0.00001, 0.0000250000) as below, explore.ledger_product(0.00001, 0.0000050001) as more,
            explore.ledger_product(9999999999999999999999999999.9999999999, 1) as most, explore.ledger_product(1, null) as nothing`,
  );
  expect(row).toEqual({
    even: '0.0000000000',
    odd: '0.0000000002',
    below: '-0.0000000002',
    more: '0.0000000001',
    most: '9999999999999999999999999999.9999999999',
    nothing: null,
  });
});

it('explore.mining_rounds returns each round once, with its phase', async () => {
  await using ownDatabase = await createReadDatabase();
  const commonFields = { dso, tickDuration: { microseconds: '600000000' }, amuletPrice: '0.005' };
  const openedRound = (number: string): frames.JsonRecord => ({
    ...commonFields,
    round: { number },
    opensAt: '2026-08-14T11:00:00Z',
    targetClosesAt: '2026-08-14T11:20:00Z',
  });
  const numbers = ['1', '2', '3', '4', '5'];
  const entities = ['Open', 'Summarizing', 'Issuing', 'Closed'];
  const entityOf = (phase: number): string => `Round:${entities[phase] ?? ''}MiningRound`;
  let nextOffset = 0;
  for (const [mintedIndex, number] of numbers.entries()) {
    for (let phase = 0; phase <= Math.min(mintedIndex, 3); phase += 1) {
      const payload =
        phase === 0
          ? { ...openedRound(number), trafficPrice: '16.67' }
          : { ...commonFields, round: { number }, ...(phase > 1 ? issuance : {}) };
      const archivals = phase === 0 ? [] : [gone(`00${number}${String(phase - 1)}`, entityOf(phase - 1), 0)];
      nextOffset += 1;
      await ownDatabase.write(
        frames.transaction(nextOffset, [
          ...archivals,
          made(`00${number}${String(phase)}`, entityOf(phase), payload, 1, {
            packageId: phase % 2 === 0 ? newerPackageId : olderPackageId,
          }),
        ]),
      );
    }
  }
  nextOffset += 1;
  await ownDatabase.write(frames.transaction(nextOffset, [gone('0053', entityOf(3), 0)]));
  const rows = await ownDatabase.query(
    `select round::int, status, amulet_price, traffic_price, opens_at, closes_at, tick::text, issuance_per_sv_coupon as sv,
            issuance_per_validator_liveness as liveness from explore.mining_rounds order by 1`,
  );
  const row = (number: number, status: string, sv: string | null): object => ({
    round: number,
    status,
    amulet_price: '0.005',
    traffic_price: '16.67',
    tick: '00:10:00',
    sv,
    liveness: null,
    opens_at: new Date('2026-08-14T11:00:00Z'),
    closes_at: new Date('2026-08-14T11:20:00Z'),
  });
  expect(rows).toEqual([
    row(1, 'open', null),
    row(2, 'summarizing', null),
    row(3, 'issuing', '0.1500000000'),
    row(4, 'closed', '0.1500000000'),
    row(5, 'archived', '0.1500000000'),
  ]);
});
