/** The CIP-56 views: over the demo's traffic against the books of its ledger, and over frames with every field. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../packages/ledger-sandbox/src/demo/templates/funds.ts';
import { instrumentOf } from '../../../packages/ledger-sandbox/src/demo/templates/instruments.ts';
import { interfaces } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import * as frames from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';

const { alice, bob, created } = frames;

/** Units of 10^-10. */
function units(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(10, '0'));
}

describe('the demo traffic', () => {
  let sandbox: Sandbox;
  let database: TestDatabase;
  let end: number;
  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 5, updates: 1_500 });
    database = await createTestDatabase();
    end = sandbox.ledger.ledgerEnd();
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      INDEXER_START: 'genesis',
      LEDGER_INTERFACES: `#${interfaces.holding},#${interfaces.transferInstruction}`,
    });
    await indexer.reaches(end);
  });
  afterAll(async () => {
    await sandbox.close();
    await database.drop();
  });

  it('gives the balances that the ledger has, digit by digit', async () => {
    const expected = new Map<string, bigint>();
    const locked = new Map<string, bigint>();
    for (const { activation, as } of sandbox.ledger.activeAt(end)) {
      const instrument = instrumentOf(nameOf(activation.created));
      if (as !== 'JsActiveContract' || instrument === undefined) continue;
      const { owner, admin, amount, lock } = instrument.read(activation.created.createArgument);
      const key = [owner, admin, instrument.id].join(' ');
      expected.set(key, (expected.get(key) ?? 0n) + units(amount));
      locked.set(key, (locked.get(key) ?? 0n) + (lock === null ? 0n : units(amount)));
    }
    const rows = await query(
      database.url,
      `select concat_ws(' ', owner, instrument_admin, instrument_id) as key, total::text, unlocked::text, locked::text
         from explore.token_balances`,
    );
    expect(new Map(rows.map((row) => [row['key'], units(String(row['total']))]))).toEqual(expected);
    expect(expected.size).toBeGreaterThan(50);
    expect(new Map(rows.map((row) => [row['key'], units(String(row['locked']))]))).toEqual(locked);
    for (const { total, locked: held, unlocked } of rows) {
      expect(units(String(total))).toBe(units(String(held)) + units(String(unlocked)));
    }
  });

  it('shows each step of each transfer with what it came to', async () => {
    const expected = new Map<string, number>();
    for (const { update } of sandbox.ledger.range(0, end, 1e6)) {
      if (update === undefined || !('Transaction' in update)) continue;
      for (const event of update.Transaction.value.events) {
        if (!('ExercisedEvent' in event) || !/^Transfer(Factory|Instruction)_/.test(event.ExercisedEvent.choice))
          continue;
        const { choice, exerciseResult } = event.ExercisedEvent;
        const { tag } = (exerciseResult as { output: { tag: string } }).output;
        const key = `${choice} ${tag.slice(tag.indexOf('_') + 1).toLowerCase()}`;
        expected.set(key, (expected.get(key) ?? 0) + 1);
      }
    }
    const rows = await query(
      database.url,
      `select concat_ws(' ', choice, outcome) as key, count(*)::int as count,
              count(sender)::int + count(receiver)::int + count(amount)::int + count(instrument_id)::int as filled
         from explore.token_transfer_steps group by 1`,
    );
    expect(new Map(rows.map((row) => [row['key'], row['count']]))).toEqual(expected);
    expect(rows.every((row) => row['filled'] === 4 * Number(row['count']))).toBe(true);
    expect(expected.size).toBe(5);
  });

  it('keeps what a second step says in line with the first', async () => {
    const [row] = await query(
      database.url,
      `select count(*)::int as pairs, count(*) filter (where
                (a.sender, a.receiver, a.amount, a.instrument_id) = (b.sender, b.receiver, b.amount, b.instrument_id))::int as same
         from explore.token_transfer_steps a join explore.token_transfer_steps b using (transfer_instruction_id)
        where a.outcome = 'pending' and b.outcome <> 'pending'`,
    );
    expect(row?.['same']).toBe(row?.['pairs']);
    expect(row?.['pairs']).toBeGreaterThan(50);
  });

  it('lists the instructions that wait', async () => {
    const waiting = [...sandbox.ledger.activeAt(end)]
      .map(({ activation }) => activation.created)
      .filter(({ templateId }) => templateId.endsWith('TransferInstruction'));
    const rows = await query(database.url, 'select * from explore.pending_transfer_instructions');
    expect(rows).toHaveLength(waiting.length);
    expect(new Set(rows.map((row) => row['contract_id']))).toEqual(
      new Set(waiting.map(({ contractId }) => contractId)),
    );
    expect(rows[0]).toMatchObject({
      status: 'TransferPendingReceiverAcceptance',
      requested_at: expect.any(Date) as Date,
    });
  });

  it('moves in each update what the holdings of the ledger say, each movement once', async () => {
    const rows = await query(
      database.url,
      `with told as (
         select "offset", sender as owner, instrument_id, -amount as amount from explore.token_transfers where sender is not null
         union all
         select "offset", receiver, instrument_id, amount from explore.token_transfers where receiver is not null)
       select concat_ws(' ', coalesce(t."offset", c."offset"), coalesce(t.owner, c.owner), coalesce(t.instrument_id, c.instrument_id)),
              t.amount, c.net
         from (select "offset", owner, instrument_id, sum(amount) as amount from told group by 1, 2, 3) t
         full join (select "offset", owner, instrument_id, sum(moved) as net from explore.token_changes group by 1, 2, 3) c
               using ("offset", owner, instrument_id)
        where coalesce(t.amount, 0) <> coalesce(c.net, 0)`,
    );
    expect(rows).toEqual([]);
    const [counted] = await query(
      database.url,
      `select count(*) filter (where kind = 'transfer')::int as transfers, count(*) filter (where kind = 'unmatched')::int as unmatched,
              count(distinct kind)::int as kinds, count(distinct basis)::int as bases from explore.token_transfers`,
    );
    expect(counted).toEqual({ transfers: 712, unmatched: 0, kinds: 3, bases: 2 });
  });

  it('adds up to the balance at a thousand offsets', async () => {
    const rows = await query(
      database.url,
      `with changes as materialized (select "offset", owner, instrument_id, net from explore.token_changes)
       select count(distinct a.at)::int as offsets, count(*)::int as balances,
              count(*) filter (where coalesce(b.net, 0) is distinct from coalesce(b.total, 0))::int as different
         from (select distinct (random() * ${String(end)})::bigint as at from generate_series(1, 1300) limit 1000) a
        cross join lateral (
               select c.net, b.total
                 from explore.token_balances_at(a.at) b
                 full join (select owner, instrument_id, sum(net) as net from changes where "offset" <= a.at group by 1, 2) c
                      using (owner, instrument_id)) b`,
    );
    expect(rows).toEqual([
      { offsets: expect.any(Number) as number, balances: expect.any(Number) as number, different: 0 },
    ]);
    expect(Number(rows[0]?.['offsets'])).toBeGreaterThan(700);
    expect(Number(rows[0]?.['balances'])).toBeGreaterThan(20_000);
  });

  it('was active at any offset as the ledger itself says', async () => {
    for (let offset = 0; offset <= end; offset += 97) {
      const there = [...sandbox.ledger.activeAt(offset)].filter(({ as }) => as === 'JsActiveContract');
      const rows = await query(database.url, `select contract_id from explore.active_at(${String(offset)})`);
      expect(rows).toHaveLength(there.length);
      expect(new Set(rows.map((row) => row['contract_id']))).toEqual(
        new Set(there.map(({ activation }) => activation.created.contractId)),
      );
    }
  });
});

/** A contract that an interface shows. */
function viewed(contractId: string, interfaceName: string, viewValue: frames.Json, nodeId = 0): frames.JsonRecord {
  const viewStatus = { code: 0, message: '', details: [] };
  const interfaceId = `${'cd'.repeat(32)}:${interfaceName}`;
  return {
    CreatedEvent: created({ contractId, nodeId, interfaceViews: [{ interfaceId, viewStatus, viewValue }] }),
  };
}

const holding = 'Splice.Api.Token.HoldingV1:Holding';
const instrumentId = { admin: 'dso::1220', id: 'Amulet' };
const meta = { values: { note: 'x' } };

describe('every field', () => {
  it('of holdings: locks that are there, null or missing, and sums beyond the digits of a double', async () => {
    await using database = await createReadDatabase();
    const amount = '1234567890123456789012345678.0000000001';
    const lock = { holders: [bob], expiresAt: '2026-09-01T00:00:00Z', expiresAfter: { microseconds: '90000000' } };
    await database.write(
      frames.transaction(1, [
        viewed('h1', holding, { owner: alice, instrumentId, amount, lock: null, meta }),
        viewed('h2', holding, { owner: alice, instrumentId, amount: '0.0000000002', meta }, 1),
        viewed(
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

  it('of allocations', async () => {
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
    await database.write(frames.transaction(1, [viewed('a1', 'Splice.Api.Token.AllocationV1:Allocation', view)]));
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
});
