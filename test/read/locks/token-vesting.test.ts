/** Vesting schedules, locks of featured apps, and the arithmetic of locks, from frames made for this test. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import * as tokens from '../tokens/token-frames.ts';
import * as locks from './lock-frames.ts';

const { alice, bob } = frames;
const carol = 'Carol::1220ca';
const app = 'App::1220a9';
const day = 86_400_000_000n;

const firstUpdate = frames.transaction(1, [...locks.vestingAllocation, ...locks.vestingGovernanceLock]);

let database: ReadDatabase;

beforeAll(async () => {
  database = await createReadDatabase();
  await database.write(firstUpdate);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe('token_vesting_schedule', () => {
  it('adds up to the amount of each lock, day by day', async () => {
    expect(
      await database.query(
        `select lock_contract_id, count(*)::integer as days, sum(freed) = max(amount) as complete, min(freed) > 0 as positive,
                min(from_day)::text as first, max(to_day)::text as last, min(remaining)::float as remaining
           from explore.token_vesting_schedule group by 1 order by 1`,
      ),
    ).toEqual([
      // Four days were withdrawn already.
      {
        lock_contract_id: '00b4',
        days: 16,
        complete: true,
        positive: true,
        first: '2026-08-08',
        last: '2026-08-23',
        remaining: 0,
      },
      {
        lock_contract_id: '00b6',
        days: 61,
        complete: true,
        positive: true,
        first: '2026-07-15',
        last: '2026-09-13',
        remaining: 0,
      },
    ]);
    const [row] = await database.query(
      `select freed, freed_total, remaining from explore.token_vesting_schedule
        where lock_contract_id = '00b6' and from_day = '2026-08-01'`,
    );
    expect(row).toMatchObject({ freed: '1.0000000000' });
  });

  it('has months and years for long periods', async () => {
    await using other = await createReadDatabase();
    const vesting = (contractId: string, endTime: string, years: bigint, nodeId: number): frames.JsonRecord =>
      locks.vestingLocked(
        {
          contractId,
          owner: alice,
          holdingId: `00a${contractId}`,
          amount: '1.0',
          kind: locks.forApp(app),
          endTime,
          periodMicroseconds: years * 365n * day,
        },
        nodeId,
      );
    await other.write(
      frames.transaction(1, [
        vesting('00b1', '2030-01-01T00:00:00Z', 3n, 0),
        vesting('00b2', '9999-12-30T00:00:00Z', 7_900n, 1),
      ]),
    );
    expect(
      await other.query(
        `select lock_contract_id, count(*)::integer as rows, sum(freed) = 1 as complete from explore.token_vesting_schedule group by 1 order by 1`,
      ),
    ).toEqual([
      { lock_contract_id: '00b1', rows: 36, complete: true },
      { lock_contract_id: '00b2', rows: 7_895, complete: true },
    ]);
  });
});

describe('featured_app_locks', () => {
  it('compares the active locks of each app with the required amounts', async () => {
    await using other = await createReadDatabase();
    const lockOf = (
      contractId: string,
      owner: string,
      amount: string,
      provider: string,
      nodeId: number,
    ): frames.JsonRecord =>
      locks.governanceLocked({ contractId, owner, holdingId: '00a1', amount, kind: locks.forApp(provider) }, nodeId);
    await other.write(
      frames.transaction(1, [
        locks.featured(app, '00f1', 0),
        locks.featured(bob, '00f2', 1),
        lockOf('00b1', alice, '4000000.5', app, 2),
        lockOf('00b2', carol, '2000000.25', app, 3),
        lockOf('00b3', carol, '7.0', carol, 4),
        locks.vestingLocked(
          {
            contractId: '00b4',
            owner: alice,
            holdingId: '00a2',
            amount: '9.0',
            kind: locks.forApp(app),
            endTime: '2026-09-13T11:01:00Z',
            periodMicroseconds: day,
          },
          5,
        ),
        // Not signed by the DSO, for a validator, and of another DSO.
        locks.governanceLocked(
          {
            contractId: '00b5',
            owner: alice,
            holdingId: '00a3',
            amount: '1.0',
            kind: locks.forApp(bob),
            signatories: [alice],
          },
          6,
        ),
        locks.governanceLocked(
          { contractId: '00b6', owner: alice, holdingId: '00a4', amount: '1.0', kind: locks.forValidator(bob) },
          7,
        ),
      ]),
      frames.transaction(2, [
        tokens.gone('00b2', 0, {
          templateId: `${'ef'.repeat(32)}:Splice.GovernanceLock:GovernanceLock`,
          packageName: 'splice-amulet',
        }),
      ]),
    );
    const columns =
      'provider, is_featured, locked::text, vesting::text, locks::integer, missing::text, missing_for_issuer::text';
    const atFirst = await other.query(`select ${columns} from explore.featured_app_locks_at(1) order by provider`);
    expect(atFirst).toEqual([
      {
        provider: app,
        is_featured: true,
        locked: '6000000.75',
        vesting: '9.0',
        locks: 2,
        missing: '0',
        missing_for_issuer: '18999999.2500000000',
      },
      {
        provider: bob,
        is_featured: true,
        locked: '0',
        vesting: '0',
        locks: 0,
        missing: '5000000.0000000000',
        missing_for_issuer: '25000000.0000000000',
      },
      {
        provider: carol,
        is_featured: false,
        locked: '7.0',
        vesting: '0',
        locks: 1,
        missing: '4999993.0000000000',
        missing_for_issuer: '24999993.0000000000',
      },
    ]);
    expect(await other.query(`select ${columns} from explore.featured_app_locks order by provider limit 1`)).toEqual([
      {
        provider: app,
        is_featured: true,
        locked: '4000000.5',
        vesting: '9.0',
        locks: 1,
        missing: '999999.5000000000',
        missing_for_issuer: '20999999.5000000000',
      },
    ]);
  });
});

describe('arithmetic of the ledger', () => {
  it.each([
    ['1', '3', '0.3333333333'],
    ['2', '3', '0.6666666667'],
    ['-2', '3', '-0.6666666667'],
    ['0.00000000005', '1', '0.0000000000'],
    ['0.00000000015', '1', '0.0000000002'],
    ['0.0000000001', '4', '0.0000000000'],
    ['0.0000000003', '2', '0.0000000002'],
    ['12345678901234567890123456.1', '7', '1763668414462081127160493.7285714286'],
  ])('divides %s by %s to %s', async (one, other, expected) => {
    expect(await database.query(`select explore.ledger_quotient(${one}, ${other})::text as value`)).toEqual([
      { value: expected },
    ]);
  });

  it.each([
    ['1785800000000001', '2026-08-03 23:33:20.000001+00'],
    ['253402300799999998', '9999-12-31 23:59:59.999998+00'],
    ['2026-08-04T01:02:03.4Z', '2026-08-04 01:02:03.4+00'],
    ['2024-02-29T00:00:00Z', '2024-02-29 00:00:00+00'],
    ['2026-02-29T00:00:00Z', null],
    ['0000-01-01T00:00:00Z', null],
    ['999999999999999999', null],
    ['2026-08-04', null],
    ['', null],
  ])('reads the time %s as %s', async (text, expected) => {
    await database.query(`set timezone to 'UTC'`);
    expect(await database.query('select explore.token_lock_time($1)::text as value', [text])).toEqual([
      { value: expected },
    ]);
  });
});
