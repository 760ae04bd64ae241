/** Compares the token views of the demo with its ledger, for both versions of the token standard. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../packages/ledger-sandbox/src/demo/templates/funds.ts';
import { instrumentOf } from '../../../packages/ledger-sandbox/src/demo/templates/instruments.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';

/** Converts an amount to units of 10^-10. */
function units(amount: string): bigint {
  const [integerPart = '', fraction = ''] = amount.split('.');
  return BigInt(integerPart + fraction.padEnd(10, '0'));
}

describe('schema explore on the demo traffic', () => {
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
      LEDGER_INTERFACES: 'tokens',
    });
    await indexer.reaches(end);
  });
  afterAll(async () => {
    await sandbox.close();
    await database.drop();
  });

  it('returns the exact token balances of the ledger', async () => {
    const expected = new Map<string, bigint>();
    const lockedByOwner = new Map<string, bigint>();
    for (const { activation, as: entryKind } of sandbox.ledger.activeAt(end)) {
      const instrument = instrumentOf(nameOf(activation.created), activation.created.createArgument);
      if (entryKind !== 'JsActiveContract' || instrument === undefined) continue;
      const { owner, admin, amount, lock } = instrument.read(activation.created.createArgument);
      const key = [owner, admin, instrument.id].join(' ');
      expected.set(key, (expected.get(key) ?? 0n) + units(amount));
      lockedByOwner.set(key, (lockedByOwner.get(key) ?? 0n) + (lock === null ? 0n : units(amount)));
    }
    const rows = await query(
      database.url,
      `select concat_ws(' ', owner, instrument_admin, instrument_id) as key, total::text, unlocked::text, locked::text
         from explore.token_balances`,
    );
    expect(new Map(rows.map((row) => [row['key'], units(String(row['total']))]))).toEqual(expected);
    expect(expected.size).toBeGreaterThan(50);
    expect(new Map(rows.map((row) => [row['key'], units(String(row['locked']))]))).toEqual(lockedByOwner);
    for (const { total, locked: lockedSum, unlocked } of rows) {
      expect(units(String(total))).toBe(units(String(lockedSum)) + units(String(unlocked)));
    }
  });

  it('returns each step of each transfer with its outcome', async () => {
    const expected = new Map<string, number>();
    for (const { update } of sandbox.ledger.range(0, end, 1e6)) {
      if (update === undefined || !('Transaction' in update)) continue;
      let outerEnd = -1;
      for (const event of update.Transaction.value.events) {
        if (!('ExercisedEvent' in event) || !/^Transfer(Factory|Instruction)_/.test(event.ExercisedEvent.choice))
          continue;
        const { choice, exerciseResult, nodeId, lastDescendantNodeId } = event.ExercisedEvent;
        // The choice of version 1 inside the choice of version 2 is the same step.
        if (nodeId <= outerEnd) continue;
        outerEnd = lastDescendantNodeId;
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

  it('returns equal parties and amounts for both steps of a transfer', async () => {
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

  it('returns the pending transfer instructions', async () => {
    const pendingEntries = [...sandbox.ledger.activeAt(end)]
      .map(({ activation }) => activation.created)
      .filter(({ templateId }) => /:(?:\w+TransferInstruction|DepositTransfer)$/.test(templateId));
    const rows = await query(database.url, 'select * from explore.pending_transfer_instructions');
    expect(rows).toHaveLength(pendingEntries.length);
    expect(new Set(rows.map((row) => row['contract_id']))).toEqual(
      new Set(pendingEntries.map(({ contractId }) => contractId)),
    );
    expect(rows[0]).toMatchObject({
      status: 'TransferPendingReceiverAcceptance',
      requested_at: expect.any(Date) as Date,
    });
  });

  it('returns the active contracts of the ledger at every 97th offset', async () => {
    for (let offset = 0; offset <= end; offset += 97) {
      const activeEntries = [...sandbox.ledger.activeAt(offset)].filter(
        ({ as: entryKind }) => entryKind === 'JsActiveContract',
      );
      const rows = await query(database.url, `select contract_id from explore.active_at(${String(offset)})`);
      expect(rows).toHaveLength(activeEntries.length);
      expect(new Set(rows.map((row) => row['contract_id']))).toEqual(
        new Set(activeEntries.map(({ activation }) => activation.created.contractId)),
      );
    }
  });
});
