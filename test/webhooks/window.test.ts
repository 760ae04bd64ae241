/** Tests the order of deliveries with random histories and outcomes. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DeliveryWindow, type WindowEvent } from '../../src/webhooks/window.ts';
import { expectProperty } from '../support/chance/property.ts';

function eventOf(offset: number, contract: string): WindowEvent {
  const change = { offset, node: 0, json: '{}' };
  return { change, id: String(offset), contract, body: '{}', isLetter: false, attempts: 0, isDone: false };
}

const outcome = fc.record({ at: fc.nat(100), taken: fc.boolean() });

it('DeliveryWindow sends events of a contract in order and moves its cursor only over accepted events', () => {
  const histories = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 });
  expectProperty(
    fc.property(histories, fc.array(outcome, { minLength: 300, maxLength: 300 }), (contracts, outcomes) => {
      const window = new DeliveryWindow({ offset: 0, node: null });
      const events = contracts.map((contract, at) => eventOf(at + 1, contract));
      window.add(events, { offset: 100, node: null });
      const underWay: WindowEvent[] = [];
      const taken: WindowEvent[] = [];
      let now = 0;
      for (const { at, taken: isTaken } of [...outcomes, ...outcomes.map(() => ({ at: 0, taken: true }))]) {
        for (let next = window.take(now); next !== undefined; next = window.take(now)) underWay.push(next);
        expect(new Set(underWay.map(({ contract }) => contract)).size).toBe(underWay.length);
        const [event] = underWay.length === 0 ? [] : underWay.splice(at % underWay.length, 1);
        if (event !== undefined && isTaken) {
          window.done(event);
          taken.push(event);
        } else if (event !== undefined) window.again(event, now + (at % 3));
        now += 1;
        const first = events.find((one) => !taken.includes(one));
        expect(window.cursor?.offset).toBe(first === undefined ? 100 : first.change.offset - 1);
      }
      expect(taken).toHaveLength(events.length);
      expect(window.size).toBe(0);
      expect(window.bytes).toBe(0);
      for (const contract of new Set(contracts)) {
        const offsets = taken.filter((one) => one.contract === contract).map(({ change }) => change.offset);
        expect(offsets).toEqual(offsets.toSorted((one, other) => one - other));
      }
    }),
    60,
  );
});
