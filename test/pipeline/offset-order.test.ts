/** The order of an offset, for every position relative to the earlier offsets. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderOfOffset } from '../../src/pipeline/follow/offset-order.ts';
import { expectProperty } from '../support/chance/property.ts';

describe('orderOfOffset()', () => {
  it.each([
    { offset: 11, seen: 10, complete: 0, end: undefined, order: 'new' },
    { offset: 10, seen: 10, complete: 0, end: undefined, order: 'repeated' },
    { offset: 10, seen: 10, complete: 12, end: undefined, order: 'repeated' },
    { offset: 9, seen: 10, complete: 0, end: undefined, order: 'late' },
    { offset: 12, seen: 10, complete: 12, end: undefined, order: 'late' },
    { offset: 13, seen: 10, complete: 12, end: undefined, order: 'new' },
    { offset: 20, seen: 10, complete: 12, end: 20, order: 'new' },
    { offset: 21, seen: 10, complete: 12, end: 20, order: 'past the end' },
  ])(
    'classifies $offset as $order with $seen received, $complete complete and end $end',
    ({ offset, order, ...come }) => {
      expect(orderOfOffset(offset, come)).toBe(order);
    },
  );

  it('returns new only for offsets above all earlier ones and not past the end', () => {
    const offset = fc.nat(30);
    expectProperty(
      fc.property(offset, offset, offset, fc.option(offset, { nil: undefined }), (at, seen, complete, end) => {
        const order = orderOfOffset(at, { seen, complete, end });
        expect(order === 'past the end').toBe(end !== undefined && at > end);
        if (order === 'past the end') return;
        expect(order === 'new').toBe(at > Math.max(seen, complete));
        expect(order === 'repeated').toBe(at === seen);
      }),
      2_000,
    );
  });
});
