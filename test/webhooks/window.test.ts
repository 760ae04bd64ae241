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
  const historyArbitrary = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 });
  expectProperty(
    fc.property(historyArbitrary, fc.array(outcome, { minLength: 300, maxLength: 300 }), (contracts, outcomes) => {
      const window = new DeliveryWindow({ offset: 0, node: null });
      const events = contracts.map((contract, index) => eventOf(index + 1, contract));
      window.add(events, { offset: 100, node: null });
      const inFlightEvents: WindowEvent[] = [];
      const takenEvents: WindowEvent[] = [];
      let now = 0;
      for (const { at, taken: isTaken } of [...outcomes, ...outcomes.map(() => ({ at: 0, taken: true }))]) {
        for (let next = window.take(now); next !== undefined; next = window.take(now)) inFlightEvents.push(next);
        expect(new Set(inFlightEvents.map(({ contract }) => contract)).size).toBe(inFlightEvents.length);
        const [event] = inFlightEvents.length === 0 ? [] : inFlightEvents.splice(at % inFlightEvents.length, 1);
        if (event !== undefined && isTaken) {
          window.done(event);
          takenEvents.push(event);
        } else if (event !== undefined) window.again(event, now + (at % 3));
        now += 1;
        const first = events.find((contractEvent) => !takenEvents.includes(contractEvent));
        expect(window.cursor?.offset).toBe(first === undefined ? 100 : first.change.offset - 1);
      }
      expect(takenEvents).toHaveLength(events.length);
      expect(window.size).toBe(0);
      expect(window.characters).toBe(0);
      for (const contract of new Set(contracts)) {
        const offsets = takenEvents.filter((event) => event.contract === contract).map(({ change }) => change.offset);
        expect(offsets).toEqual(offsets.toSorted((firstOffset, otherOffset) => firstOffset - otherOffset));
      }
    }),
    60,
  );
});
