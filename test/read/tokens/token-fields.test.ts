/** Tests every field of holdings and allocations in the token views, with frames made for this test. */
import { describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';

const { alice, bob, created } = frames;

/** A contract with an interface view. */
function viewEvent(contractId: string, interfaceName: string, viewValue: frames.Json, nodeId = 0): frames.JsonRecord {
  const viewStatus = { code: 0, message: '', details: [] };
  const interfaceId = `${'cd'.repeat(32)}:${interfaceName}`;
  return {
    CreatedEvent: created({ contractId, nodeId, interfaceViews: [{ interfaceId, viewStatus, viewValue }] }),
  };
}

const holding = 'Splice.Api.Token.HoldingV1:Holding';
const instrumentId = { admin: 'dso::1220', id: 'Amulet' };
const meta = { values: { note: 'x' } };

describe('token views', () => {
  it('return the fields of holdings, with or without a lock, and exact sums', async () => {
    await using database = await createReadDatabase();
    const amount = '1234567890123456789012345678.0000000001';
    const lock = { holders: [bob], expiresAt: '2026-09-01T00:00:00Z', expiresAfter: { microseconds: '90000000' } };
    await database.write(
      frames.transaction(1, [
        viewEvent('h1', holding, { owner: alice, instrumentId, amount, lock: null, meta }),
        viewEvent('h2', holding, { owner: alice, instrumentId, amount: '0.0000000002', meta }, 1),
        viewEvent(
          'h3',
          holding,
          { owner: alice, instrumentId, amount: '5.5', lock: { ...lock, context: 'DvP' }, meta },
          2,
        ),
      ]),
    );
    expect(await database.query('select * from explore.token_balances')).toEqual([
      {
        owner: alice,
        provider: null,
        account_id: '',
        instrument_admin: 'dso::1220',
        instrument_id: 'Amulet',
        holdings: '3',
        total: '1234567890123456789012345683.5000000003',
        locked: '5.5',
        unlocked: '1234567890123456789012345678.0000000003',
        available: '1234567890123456789012345683.5000000003',
      },
    ]);
    expect(
      await database.query(
        `select is_locked, lock_holders, lock_expires_at, lock_expires_after::text, lock_context, meta
           from explore.token_holdings order by contract_id desc limit 2`,
      ),
    ).toEqual([
      {
        is_locked: true,
        lock_holders: [bob],
        lock_expires_at: new Date('2026-09-01'),
        lock_context: 'DvP',
        lock_expires_after: '00:01:30',
        meta: { note: 'x' },
      },
      {
        is_locked: false,
        lock_holders: null,
        lock_expires_at: null,
        lock_context: null,
        lock_expires_after: null,
        meta: { note: 'x' },
      },
    ]);
    await database.query(`insert into packages values ('${'cd'.repeat(32)}', 'something-else', '1.0.0', '2.1', '{}')`);
    expect(await database.query('select * from explore.token_holdings')).toEqual([]);
  });

  it('return every field of allocations', async () => {
    await using database = await createReadDatabase();
    const settlement = {
      executor: 'venue::1220',
      settlementRef: { id: 'OTC-1', cid: '00trade' },
      requestedAt: '2026-08-01T00:00:00Z',
      allocateBefore: '2026-08-02T00:00:00Z',
      settleBefore: '2026-08-03T00:00:00Z',
      meta,
    };
    const transferLeg = { sender: alice, receiver: bob, amount: '7.2500000000', instrumentId, meta };
    const view = { allocation: { settlement, transferLegId: 'leg1', transferLeg }, holdingCids: ['h1', 'h2'], meta };
    await database.write(frames.transaction(1, [viewEvent('a1', 'Splice.Api.Token.AllocationV1:Allocation', view)]));
    expect(await database.query('select * from explore.allocations')).toEqual([
      {
        contract_id: 'a1',
        executors: ['venue::1220'],
        standard: 'V1',
        settlement_id: 'OTC-1',
        settlement_contract_id: '00trade',
        transfer_leg_id: 'leg1',
        sender: alice,
        receiver: bob,
        instrument_admin: 'dso::1220',
        instrument_id: 'Amulet',
        amount: '7.2500000000',
        requested_at: new Date('2026-08-01'),
        allocate_before: new Date('2026-08-02'),
        settle_before: new Date('2026-08-03'),
        holding_ids: ['h1', 'h2'],
        meta: { note: 'x' },
        created_at_offset: expect.anything() as unknown,
        created_at: new Date('2026-08-11T12:49:09.497Z'),
        synchronizer_id: frames.here,
      },
    ]);
  });

  it('return the fields of allocations of version 2', async () => {
    await using database = await createReadDatabase();
    const account = (owner: string): frames.JsonRecord => ({ owner, provider: null, id: '' });
    const view = {
      settlement: { executors: ['venue::1220', 'other::1220'], id: 'OTC-2', cid: '00trade', meta },
      allocation: {
        admin: 'dso::1220',
        authorizer: account(alice),
        transferLegSides: [
          {
            transferLegId: 'leg1',
            side: 'SenderSide',
            otherside: account(bob),
            amount: '7.25',
            instrumentId: 'Amulet',
          },
        ],
        settlementDeadline: '2026-08-03T00:00:00Z',
        meta: { values: {} },
      },
      holdingCids: ['h1'],
    };
    const name = 'Splice.Api.Token.AllocationV2:Allocation';
    await database.write(frames.transaction(1, [viewEvent('a1', name, view)]));
    expect(
      await database.query(
        `select standard, executors, settlement_id, settlement_contract_id, sender, receiver, amount, settle_before, meta
           from explore.allocations`,
      ),
    ).toEqual([
      {
        standard: 'V2',
        executors: ['venue::1220', 'other::1220'],
        settlement_id: 'OTC-2',
        settlement_contract_id: '00trade',
        sender: alice,
        receiver: bob,
        amount: '7.25',
        settle_before: new Date('2026-08-03'),
        meta: { note: 'x' },
      },
    ]);
  });
});
