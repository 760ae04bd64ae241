/** Reasons and terms of locked holdings, and balances by reason, from frames made for this test. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import * as locks from './lock-frames.ts';
import * as tokens from '../tokens/token-frames.ts';

const { alice, bob } = frames;
const { dso, never } = locks;
const carol = 'Carol::1220ca';
const app = 'App::1220a9';
const venue = 'venue::1220fe';

/** The holding of each lock, with the contract that explains it. */
const firstUpdate = frames.transaction(1, [
  locks.amuletHeld('00a0', alice, '1000.0', null, 0),
  locks.amuletHeld(
    '00a1',
    alice,
    '10.0',
    locks.lock([dso], '2026-09-01T00:00:00Z', 'allocation for settlement of trade'),
    1,
  ),
  locks.allocated(
    {
      contractId: '00b1',
      owner: alice,
      holdingIds: ['00a1'],
      deadline: '2026-08-30T00:00:00Z',
      expiresAt: '2026-08-29T00:00:00Z',
      legs: [
        { transferLegId: 'l', side: 'SenderSide', otherside: tokens.own(bob), amount: '10.0', instrumentId: 'Amulet' },
      ],
      iterations: 3,
    },
    2,
  ),
  locks.amuletHeld('00a2', alice, '20.0', locks.lock([dso], '2026-09-02T00:00:00Z', `transfer to ${bob}`), 3),
  locks.offered(
    {
      contractId: '00b2',
      owner: alice,
      holdingIds: ['00a2'],
      version: 1,
      receiver: bob,
      amount: '20.0',
      executeBefore: '2026-09-02T00:00:00Z',
    },
    4,
  ),
  locks.amuletHeld('00a3', alice, '30.0', locks.lock([alice, dso], never), 5),
  locks.lockedByCip105(
    {
      contractId: '00b3',
      owner: alice,
      holdingIds: ['00a3'],
      amount: '30.0',
      terms: { type: 'aggregateLock', vestingSchedule: 'SV' },
      controllers: { unlockControllerSets: `${alice};${bob},${carol}`, withdrawControllerSets: ',,' },
    },
    6,
  ),
  ...locks.vestingAllocation,
  locks.amuletHeld('00a5', alice, '50.0', locks.lock([dso], never, `Locked to support Featured App party ${app}`), 9),
  locks.governanceLocked(
    { contractId: '00b5', owner: alice, holdingId: '00a5', amount: '50.0', kind: locks.forApp(app), observers: [app] },
    10,
  ),
  ...locks.vestingGovernanceLock,
  locks.amuletHeld('00a7', alice, '70.0', locks.lock([venue], '2026-08-01T00:00:00Z', 'deposit of a game'), 13),
  locks.amuletHeld('00a8', alice, '80.0', locks.lock([alice], null), 14),
  locks.amuletHeld('00a9', alice, '90.0', locks.lock([dso], '2026-09-03T00:00:00Z', `transfer to ${carol}`), 15),
]);

let database: ReadDatabase;

beforeAll(async () => {
  database = await createReadDatabase();
  await database.write(firstUpdate);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe('token_locks', () => {
  it('has one row per locked holding, with the reason and its source', async () => {
    expect(
      await database.query(
        `select contract_id, amount::float, reason, basis, lock_contract_id, is_locked_now from explore.token_locks_at(1) order by 1`,
      ),
    ).toEqual([
      {
        contract_id: '00a1',
        amount: 10,
        reason: 'allocation',
        basis: 'contract',
        lock_contract_id: '00b1',
        is_locked_now: true,
      },
      {
        contract_id: '00a2',
        amount: 20,
        reason: 'transfer',
        basis: 'contract',
        lock_contract_id: '00b2',
        is_locked_now: true,
      },
      {
        contract_id: '00a3',
        amount: 30,
        reason: 'aggregate_lock',
        basis: 'contract',
        lock_contract_id: '00b3',
        is_locked_now: true,
      },
      {
        contract_id: '00a4',
        amount: 40,
        reason: 'vesting_lock',
        basis: 'contract',
        lock_contract_id: '00b4',
        is_locked_now: true,
      },
      {
        contract_id: '00a5',
        amount: 50,
        reason: 'governance_lock',
        basis: 'contract',
        lock_contract_id: '00b5',
        is_locked_now: true,
      },
      {
        contract_id: '00a6',
        amount: 60,
        reason: 'vesting_lock',
        basis: 'contract',
        lock_contract_id: '00b6',
        is_locked_now: true,
      },
      {
        contract_id: '00a7',
        amount: 70,
        reason: 'conditional',
        basis: 'none',
        lock_contract_id: null,
        is_locked_now: false,
      },
      { contract_id: '00a8', amount: 80, reason: 'other', basis: 'none', lock_contract_id: null, is_locked_now: true },
      {
        contract_id: '00a9',
        amount: 90,
        reason: 'transfer',
        basis: 'context',
        lock_contract_id: null,
        is_locked_now: true,
      },
    ]);
  });

  it('has the same rows at the newest offset as now, except those that depend on the clock', async () => {
    const columns =
      'contract_id, amount, reason, basis, lock_contract_id, free_at, lock_holders, unlock_controllers, vesting_ends_at, created_at_offset';
    const now = await database.query(`select ${columns} from explore.token_locks order by 1`);
    expect(await database.query(`select ${columns} from explore.token_locks_at(1) order by 1`)).toEqual(now);
    expect(now).toHaveLength(9);
  });

  it('names the time at which the entire holding is free, or none', async () => {
    const rows = await database.query<{ free_at: Date | null }>(
      'select free_at from explore.token_locks order by contract_id',
    );
    expect(rows.map(({ free_at }) => free_at?.toISOString() ?? null)).toEqual([
      '2026-08-29T00:00:00.000Z',
      '2026-09-02T00:00:00.000Z',
      null,
      '2026-08-24T00:00:00.000Z',
      null,
      '2026-09-13T11:01:00.000Z',
      '2026-08-01T00:00:00.000Z',
      null,
      '2026-09-03T00:00:00.000Z',
    ]);
  });

  it('lists the parties that control a lock, by default the owner alone', async () => {
    expect(
      await database.query(
        `select contract_id, unlock_controllers, withdraw_controllers, substitute_controllers, beneficiary, beneficiary_kind
           from explore.token_locks where contract_id in ('00a3', '00a5', '00a6') order by 1`,
      ),
    ).toEqual([
      {
        contract_id: '00a3',
        unlock_controllers: [[alice], [bob, carol]],
        withdraw_controllers: [[alice]],
        substitute_controllers: [[alice]],
        beneficiary: null,
        beneficiary_kind: 'super_validator',
      },
      {
        contract_id: '00a5',
        unlock_controllers: [[alice]],
        withdraw_controllers: null,
        substitute_controllers: null,
        beneficiary: app,
        beneficiary_kind: 'featured_app',
      },
      {
        contract_id: '00a6',
        unlock_controllers: null,
        withdraw_controllers: [[alice]],
        substitute_controllers: null,
        beneficiary: 'sv1',
        beneficiary_kind: 'super_validator',
      },
    ]);
  });

  it('computes the amount that may be withdrawn at the time of the offset', async () => {
    // At 2026-08-14T11:01:00Z, 10.459 of 20 days have passed, and 10 were withdrawn; 30 of 60 days have passed.
    const elapsed = (Date.UTC(2026, 7, 14, 11, 1) - Date.UTC(2026, 7, 4)) / (20 * 86_400_000);
    expect(
      await database.query(
        `select contract_id, vesting_amount, withdrawable from explore.token_locks_at(1) where withdrawable is not null order by 1`,
      ),
    ).toEqual([
      {
        contract_id: '00a4',
        vesting_amount: '50.0',
        withdrawable: (50 * Number(elapsed.toFixed(10)) - 10).toFixed(10),
      },
      { contract_id: '00a6', vesting_amount: '60.0', withdrawable: '30.0000000000' },
    ]);
  });

  it('ignores contracts that the admin of the instrument did not sign, and holdings of others', async () => {
    await using other = await createReadDatabase();
    const reasonOf = async (offset: number): Promise<unknown> =>
      (await other.query(`select reason, basis from explore.token_locks_at(${String(offset)})`))[0];
    const allocation = { owner: alice, holdingIds: ['00a1'] };
    await other.write(
      frames.transaction(1, [
        locks.amuletHeld('00a1', alice, '10.0', locks.lock([venue], never), 0),
        locks.allocated({ ...allocation, contractId: '00b1', signatories: [alice] }, 1),
      ]),
      frames.transaction(2, [locks.allocated({ ...allocation, contractId: '00b2', owner: bob }, 0)]),
      frames.transaction(3, [
        locks.allocated(
          { ...allocation, contractId: '00b3', instrument: { admin: bob, id: 'Amulet' }, signatories: [alice, bob] },
          0,
        ),
      ]),
      frames.transaction(4, [locks.allocated({ ...allocation, contractId: '00b4' }, 0)]),
      frames.transaction(5, [tokens.gone('00b4', 0, { templateId: `${'cd'.repeat(32)}:Registry:AllocationV2` })]),
    );
    expect([await reasonOf(1), await reasonOf(2), await reasonOf(3)]).toEqual(
      [1, 2, 3].map(() => ({ reason: 'other', basis: 'none' })),
    );
    expect(await reasonOf(4)).toEqual({ reason: 'allocation', basis: 'contract' });
    expect(await reasonOf(5)).toEqual({ reason: 'other', basis: 'none' });
  });

  it.each([
    [
      'legs',
      {
        legs: [
          { transferLegId: 'l', side: 'SenderSide', otherside: tokens.own(bob), amount: '1.0', instrumentId: 'Amulet' },
        ],
      },
    ],
    ['an end', { expiresAt: '2026-09-01T00:00:00Z' }],
    ['no commitment', { committed: false }],
    ['two instruments', { funding: { Amulet: '1.0', Other: '1.0' } }],
    [
      'dates that are no dates',
      {
        meta: {
          'cip-105/type': 'vestingLock',
          'cip-105/vestingLock.startDate': '2026-02-31T00:00:00Z',
          'cip-105/vestingLock.endDate': 'soon',
        },
      },
    ],
    [
      'an end before its start',
      {
        meta: {
          'cip-105/type': 'vestingLock',
          'cip-105/vestingLock.startDate': '2000000',
          'cip-105/vestingLock.endDate': '1000000',
        },
      },
    ],
  ])('takes an allocation with %s for a plain allocation', async (_, change) => {
    await using other = await createReadDatabase();
    const form = {
      funding: { Amulet: '10.0' },
      committed: true,
      expiresAt: never,
      meta: { 'cip-105/type': 'aggregateLock' },
    };
    await other.write(
      frames.transaction(1, [
        locks.amuletHeld('00a1', alice, '10.0', locks.lock([dso], never), 0),
        locks.allocated({ contractId: '00b1', owner: alice, holdingIds: ['00a1'], ...form, ...change }, 1),
      ]),
    );
    expect(await other.query('select reason from explore.token_locks')).toEqual([{ reason: 'allocation' }]);
    expect(await other.query('select from explore.token_vesting_schedule')).toEqual([]);
  });
});

describe('token_balances_by_reason', () => {
  it('splits the balance of an account exactly', async () => {
    const rows = await database.query(
      `select reason, amount::float, available::float, holdings::integer from explore.token_balances_by_reason_at(1) order by reason`,
    );
    expect(rows).toEqual([
      { reason: 'aggregate_lock', amount: 30, available: 0, holdings: 1 },
      { reason: 'allocation', amount: 10, available: 0, holdings: 1 },
      { reason: 'conditional', amount: 70, available: 70, holdings: 1 },
      { reason: 'free', amount: 1000, available: 1000, holdings: 1 },
      { reason: 'governance_lock', amount: 50, available: 0, holdings: 1 },
      { reason: 'other', amount: 80, available: 0, holdings: 1 },
      { reason: 'transfer', amount: 110, available: 0, holdings: 2 },
      { reason: 'vesting_lock', amount: 100, available: 0, holdings: 2 },
    ]);
    expect(
      await database.query(
        `select sum(b.amount) = max(t.total) as same, sum(b.amount) filter (where b.reason <> 'free') = max(t.locked) as locked
           from explore.token_balances_by_reason b join explore.token_balances t using (owner, instrument_admin, instrument_id)`,
      ),
    ).toEqual([{ same: true, locked: true }]);
  });

  it('rejects an offset that is not known', async () => {
    for (const call of ['token_locks_at(9)', 'token_balances_by_reason_at(9)', 'featured_app_locks_at(9)']) {
      await expect(database.query(`select * from explore.${call}`), call).rejects.toMatchObject({ code: 'LI003' });
    }
  });
});
