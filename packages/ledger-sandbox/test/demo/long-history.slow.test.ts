/**
 * A history of half a year. It is the same in every run, its rounds have prices of their own that change, and this
 * participant always has traffic left.
 */
import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { demoWorld } from '../../src/demo/sandbox.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { asText, textAt } from '../../src/wire/json.ts';
import type { Transaction } from '../../src/wire/wire.ts';
import { playHalfYear } from '../../../../test/support/demo-play.ts';
import { valueAt } from '../server/sockets.ts';
import { choiceCounts, createsOf, exercisesOf, transactionsOf } from './demo-world.ts';
import { expectReportedChanges } from './holding-changes.ts';

function played(seed: number): Ledger {
  const ledger = new Ledger(demoWorld(), { seed });
  playHalfYear(ledger, seed);
  return ledger;
}

function digest(ledger: Ledger): string {
  const hash = createHash('sha256');
  for (const { offset, update } of ledger.range(0, ledger.ledgerEnd(), Infinity))
    hash.update(JSON.stringify([offset, update]));
  return hash.digest('hex');
}

let ledger: Ledger;
let transactions: readonly Transaction[];
beforeAll(() => {
  ledger = played(31);
  transactions = transactionsOf(ledger);
}, 120_000);

it('a history of half a year has about 15,000 updates, spread over its months, and is the same in every run', () => {
  const begin = performance.now();
  const again = played(31);
  const seconds = (performance.now() - begin) / 1000;
  expect(digest(again)).toBe(digest(ledger));
  const updates = ledger.range(0, ledger.ledgerEnd(), Infinity).length;
  console.log(`${String(updates)} updates of half a year in ${seconds.toFixed(1)} s`);
  expect(updates).toBeGreaterThan(14_000);
  expect(updates).toBeLessThan(16_000);
  const byMonth = new Map<string, number>();
  for (const { effectiveAt } of transactions)
    byMonth.set(effectiveAt.slice(0, 7), (byMonth.get(effectiveAt.slice(0, 7)) ?? 0) + 1);
  expect([...byMonth.keys()]).toEqual(['01', '02', '03', '04', '05', '06'].map((month) => `2026-${month}`));
  for (const [month, count] of byMonth) expect(count, month).toBeGreaterThan(1_000);
});

it('its holdings change in each update by the amounts that its events report', () => {
  expectReportedChanges(ledger);
});

it('its rounds have different prices, at which traffic is bought and rewards are issued', () => {
  const rounds = createsOf(transactions).filter(({ templateId }) => templateId.endsWith(':OpenMiningRound'));
  const priceOf = new Map(rounds.map((event) => [event.contractId, asText(event.createArgument['amuletPrice'])]));
  expect(new Set(priceOf.values()).size).toBeGreaterThan(100);
  const prices = [...priceOf.values()].map(Number);
  expect(Math.max(...prices) / Math.min(...prices)).toBeGreaterThan(1.5);
  const purchases = exercisesOf(transactions).filter(({ choice }) => choice === 'AmuletRules_BuyMemberTraffic');
  for (const { choiceArgument, exerciseResult } of purchases) {
    const price = priceOf.get(String(valueAt(choiceArgument, 'context', 'openMiningRound')));
    expect(valueAt(exerciseResult, 'summary', 'amuletPrice')).toBe(price);
    const usd = Number(valueAt(exerciseResult, 'amuletPaid')) * Number(price);
    expect(usd).toBeCloseTo((Number(valueAt(choiceArgument, 'trafficAmount')) * 0.015) / 1e6, 6);
  }
  expect(purchases.length).toBeGreaterThan(100);
});

it('this participant buys traffic in both ways in every month, and always has some left', () => {
  const member = `PAR::${ledger.participantId}`;
  const ways = new Map<string, Set<string>>();
  let left = 0;
  let lowest = Infinity;
  for (const { commandId, events, effectiveAt, paidTrafficCost } of transactions) {
    for (const event of events) {
      if (!('ExercisedEvent' in event)) continue;
      const { choice, choiceArgument: argument } = event.ExercisedEvent;
      const memo = new URLSearchParams(
        textAt(argument, 'transfer', 'meta', 'values', 'splice.lfdecentralizedtrust.org/reason'),
      );
      const [by, bytes] =
        choice === 'AmuletRules_BuyMemberTraffic'
          ? [valueAt(argument, 'memberId'), valueAt(argument, 'trafficAmount')]
          : [memo.get('memberId'), memo.get('trafficAmount')];
      if (by !== member) continue;
      left += Number(bytes);
      const month = effectiveAt.slice(0, 7);
      if (commandId.startsWith('plan-')) ways.set(month, (ways.get(month) ?? new Set()).add(choice));
    }
    left -= paidTrafficCost ?? 0;
    if (ways.size > 0) lowest = Math.min(lowest, left);
  }
  expect(lowest).toBeGreaterThan(0);
  expect([...ways.values()].map((set) => set.size)).toEqual([2, 2, 2, 2, 2, 2]);
});

it('its locks for an application vest to their end, and locks of CIP-0105 are unlocked every month', () => {
  const count = choiceCounts(transactions);
  expect(count('Allocation_Withdraw')).toBeGreaterThan(25);
  expect(count('VestingLock_Withdraw')).toBeGreaterThanOrEqual(5);
  const ended = exercisesOf(transactions).filter(
    ({ choice, exerciseResult }) =>
      choice === 'VestingLock_Withdraw' && valueAt(exerciseResult, 'vestingLock') === null,
  );
  expect(ended.length).toBe(2);
});
