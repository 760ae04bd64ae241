/**
 * The traffic of the demo. Its balances add up, the shares of its actions are as specified, and the same seed always
 * results in the same history.
 */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Transaction } from '../../src/wire/wire.ts';
import {
  choiceCounts,
  createsOf,
  exercisesOf,
  holdingSums,
  issuedSums,
  playedLedger,
  transactionsOf,
} from './demo-world.ts';
import { valueAt } from '../server/sockets.ts';

const updates = 8_000;
let ledger: Ledger;
let transactions: readonly Transaction[];
let count: (choice: string) => number;

beforeAll(() => {
  ledger = playedLedger(updates);
  transactions = transactionsOf(ledger);
  count = choiceCounts(transactions);
});

function expectShare(partCount: number, total: number, minimum: number, maximum: number): void {
  expect(partCount / total).toBeGreaterThan(minimum);
  expect(partCount / total).toBeLessThan(maximum);
}

/**
 * Counts requests to the factories, by whether the receiver was another user and whether the transfer took one step.
 */
function transfers(): { own: number; oneStep: number; twoSteps: number } {
  const startedExercises = exercisesOf(transactions).filter(({ choice }) => choice === 'TransferFactory_Transfer');
  const toSelf = startedExercises.filter(
    ({ choiceArgument: argument }) =>
      JSON.stringify(valueAt(argument, 'transfer', 'sender')) ===
      JSON.stringify(valueAt(argument, 'transfer', 'receiver')),
  );
  const pending = startedExercises.filter(({ exerciseResult }) =>
    String(valueAt(exerciseResult, 'output', 'tag')).endsWith('Pending'),
  );
  const selfTransfers = toSelf.length;
  return {
    own: selfTransfers,
    twoSteps: pending.length,
    oneStep: startedExercises.length - selfTransfers - pending.length,
  };
}

describe('the holdings of the demo', () => {
  it('equal the mints minus the burns of each instrument', () => {
    const ownedSums = holdingSums(ledger);
    expect([...ownedSums.keys()].sort()).toEqual(['Amulet', 'EURX', 'TWGBP', 'TWUSD', 'XS2931000017']);
    const issuedAmounts = issuedSums(transactions);
    for (const [instrument, sum] of ownedSums) expect(sum, instrument).toBe(issuedAmounts.get(instrument));
  });
});

describe('the traffic of the demo', () => {
  it('completes 70 % of transfers in one step, and of the others, 85 % are accepted, 8 % rejected and 7 % withdrawn', () => {
    const { oneStep, twoSteps: twoStepCount } = transfers();
    expectShare(oneStep, oneStep + twoStepCount, 0.66, 0.74);
    const responseCount =
      count('TransferInstruction_Accept') + count('TransferInstruction_Reject') + count('TransferInstruction_Withdraw');
    expect(responseCount).toBeGreaterThan(500);
    expectShare(count('TransferInstruction_Accept'), responseCount, 0.8, 0.9);
    expectShare(count('TransferInstruction_Reject'), responseCount, 0.05, 0.115);
    expectShare(count('TransferInstruction_Withdraw'), responseCount, 0.035, 0.105);
  });

  it('has 6 % merges and splits and 4 % trades, of which 90 % settle, 7 % are cancelled and 3 % miss their deadline', () => {
    const { own: selfTransfers, oneStep, twoSteps: twoStepCount } = transfers();
    expectShare(selfTransfers, selfTransfers + oneStep + twoStepCount, 0.04, 0.09);
    const tradeProposals = createsOf(transactions).filter(
      (c) => valueAt(c.createArgument, 'approvers', '1') === undefined,
    );
    const trades = tradeProposals.filter(({ templateId }) => templateId.endsWith('OTCTradeProposal')).length;
    expectShare(trades, trades + selfTransfers + oneStep + twoStepCount, 0.03, 0.06);
    const endedTrades = count('OTCTrade_Settle') + count('OTCTrade_Cancel') + count('AllocationRequest_Withdraw');
    expect(endedTrades).toBeGreaterThan(100);
    expectShare(count('OTCTrade_Settle'), endedTrades, 0.83, 0.96);
    expect(count('OTCTrade_Cancel')).toBeGreaterThan(0);
    expect(count('AllocationRequest_Withdraw')).toBeGreaterThan(0);
    expect(count('Allocation_ExecuteTransfer')).toBe(
      2 * count('OTCTrade_Settle') + count('LicenseRenewalRequest_CompleteRenewal'),
    );
  });

  it('leaves each user with few holdings, rarely more than a dozen', () => {
    const perUser = new Map<string, number>();
    for (const { activation } of ledger.activeAt(ledger.ledgerEnd())) {
      const { templateId, createArgument: payload } = activation.created;
      if (!/:(?:Amulet|Token|BondHolding)$/.test(templateId) || valueAt(payload, 'lock') instanceof Object) continue;
      const key = `${JSON.stringify(payload['owner'])} ${templateId}`;
      perUser.set(key, (perUser.get(key) ?? 0) + 1);
    }
    const counts = [...perUser.values()].sort((a, b) => a - b);
    expect(counts[Math.floor(counts.length / 2)]).toBeGreaterThanOrEqual(2);
    expect(counts[Math.floor(counts.length / 2)]).toBeLessThanOrEqual(4);
    expect(counts[Math.floor(counts.length * 0.95)]).toBeLessThanOrEqual(14);
  });

  it('keeps three rounds open and forty users with a license', () => {
    const activeContracts = [...ledger.activeAt(ledger.ledgerEnd())].map(
      ({ activation }) => activation.created.templateId,
    );
    const countOf = (entity: string): number => activeContracts.filter((id) => id.endsWith(`:${entity}`)).length;
    expect(countOf('OpenMiningRound')).toBe(3);
    expect(countOf('AppInstall')).toBe(40);
    expect(countOf('License')).toBe(40);
    expect(countOf('LicenseRenewalRequest')).toBeGreaterThan(0);
  });

  it('has a traffic cost only for submissions of its own participant', () => {
    for (const { commandId, paidTrafficCost, traceContext } of transactions) {
      expect(paidTrafficCost === null).toBe(commandId === '');
      if (commandId === '') expect(traceContext).toBeNull();
    }
    expectShare(transactions.filter(({ commandId }) => commandId === '').length, transactions.length, 0.2, 0.6);
  });

  it('records every update 0.2 to 1.5 s after its effective time, or later if another update was as late', () => {
    const delays = transactions.map((t) => Date.parse(t.recordTime) - Date.parse(t.effectiveAt));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(199);
    expect(delays.filter((delay) => delay > 1_501).length).toBeLessThan(transactions.length / 10);
  });
});

it('the demo traffic is the same for the same seed, and different for another seed', () => {
  const digest = (seed: number): string => {
    const playedHistory = playedLedger(600, seed);
    const hash = createHash('sha256');
    for (const { offset, update } of playedHistory.range(0, playedHistory.ledgerEnd(), Infinity))
      hash.update(JSON.stringify([offset, update]));
    return hash.digest('hex');
  };
  const first = digest(3);
  expect(digest(3)).toBe(first);
  expect(digest(4)).not.toBe(first);
});
