/**
 * The planned steps of the demo: locks of every kind, names, and purchases of traffic. The holdings of an owner change
 * only as the events of an update say, so that a lock never changes a balance.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { demoWorld } from '../../src/demo/sandbox.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { CreatedEvent } from '../../src/wire/wire.ts';
import { playDemo } from '../../../../test/support/demo-play.ts';
import { valueAt } from '../server/sockets.ts';
import { choiceCounts, transactionsOf } from './demo-world.ts';
import { expectReportedChanges, HoldingReader } from './holding-changes.ts';
import type { Amounts } from './holding-changes.ts';

let ledger: Ledger;
let active: readonly CreatedEvent[];
beforeAll(() => {
  ledger = new Ledger(demoWorld(), { seed: 29 });
  playDemo(ledger, 29);
  active = [...ledger.activeAt(ledger.ledgerEnd())].map(({ activation }) => activation.created);
}, 120_000);

const ofTemplate = (entity: string): readonly CreatedEvent[] =>
  active.filter(({ templateId }) => templateId.endsWith(`:${entity}`));
const text = (value: unknown, ...path: string[]): string => String(valueAt(value, ...path));

describe('holdings of the demo', () => {
  it('change in each update by the amounts that its events report', () => {
    const reader = new HoldingReader();
    expect(expectReportedChanges(ledger, reader)).toBeGreaterThan(3_000);
    const locked: Amounts = new Map();
    for (const { instrument, amount, isLocked } of reader.active.values())
      if (isLocked) locked.set(instrument, (locked.get(instrument) ?? 0n) + amount);
    expect(locked.get('Amulet')).toBeGreaterThan(7_000_000n * 10n ** 10n);
  });
});

describe('locks of the demo', () => {
  it('by CIP-0105 are aggregate locks and vesting locks whose amount their Amulet has', () => {
    const amuletOf = new Map(ofTemplate('LockedAmulet').map((event) => [event.contractId, event.createArgument]));
    const types = new Map<string, number>();
    for (const { createArgument: payload } of ofTemplate('AmuletAllocationV2')) {
      const type = text(payload, 'allocation', 'meta', 'values', 'cip-105/type');
      types.set(type, (types.get(type) ?? 0) + 1);
      const amulet = amuletOf.get(text(payload, 'lockedAmulet'));
      expect(text(amulet, 'amulet', 'amount', 'initialAmount')).toBe(
        text(payload, 'allocation', 'nextIterationFunding', 'Amulet'),
      );
      expect(valueAt(amulet, 'lock', 'holders')).toHaveLength(2);
      if (type !== 'undefined') expect(text(payload, 'expiresAt')).toBe('9999-12-31T23:59:59.999998Z');
    }
    expect(types).toEqual(
      new Map([
        ['undefined', 1],
        ['aggregateLock', 2],
        ['vestingLock', 2],
      ]),
    );
  });

  it('for a featured application reach 5,000,000 for one application, and not for the other', () => {
    const sums = new Map<string, number>();
    for (const { createArgument: payload } of ofTemplate('GovernanceLock')) {
      const provider = text(payload, 'specification', 'kind', 'value', 'provider').split('::')[0] ?? '';
      sums.set(provider, (sums.get(provider) ?? 0) + Number(payload['amount']));
    }
    expect(sums.get('harbor-registrar')).toBe(5_200_000);
    expect(sums.get('meridian-agent')).toBe(1_250_000);
    expect(ofTemplate('VestingLock').length).toBe(2);
  });

  it('include an allocation, a pending transfer, an escrow, and Amulet whose lock has ended', () => {
    const contexts = ofTemplate('LockedAmulet').map(({ createArgument: payload }) =>
      text(payload, 'lock', 'optContext'),
    );
    for (const context of [/^allocation for delivery/, /^transfer to carol/, /^goods of order 7731/, /^null$/])
      expect(
        contexts.some((candidate) => context.test(candidate)),
        String(context),
      ).toBe(true);
    const ended = ofTemplate('LockedAmulet').filter(
      ({ createArgument: payload }) => text(payload, 'lock', 'expiresAt') < '2026-03-02',
    );
    expect(ended.length).toBeGreaterThanOrEqual(2);
  });
});

it('users of the demo have names, of which one has expired and one was renewed', () => {
  const ends = new Map(
    ofTemplate('AnsEntry').map(({ createArgument: payload }) => [text(payload, 'name'), text(payload, 'expiresAt')]),
  );
  expect([...ends.keys()].toSorted()).toEqual(
    ['alice', 'bob', 'carol', 'harbor-registrar'].map((name) => `${name}.unverified.cns`),
  );
  expect(Date.parse(ends.get('carol.unverified.cns') ?? '')).toBeLessThan(Date.UTC(2026, 2, 2));
  const count = choiceCounts(transactionsOf(ledger));
  expect([count('AnsEntry_Renew'), count('AnsEntry_Expire')]).toEqual([1, 1]);
});
