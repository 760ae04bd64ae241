/** Random movements of tokens, for the model in movement-model.ts. */
import * as fc from 'fast-check';
import type { Movement, Step } from './movement-model.ts';

/** Amounts of up to 28 digits before the decimal point and ten after it, and zero. */
const amount = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(0n, 1n, 10n ** 10n) },
  { weight: 4, arbitrary: fc.bigInt(1n, 10n ** 13n) },
  { weight: 1, arbitrary: fc.bigInt(10n ** 36n, 10n ** 37n) },
);
const index = fc.nat(60);
const movement: fc.Arbitrary<Movement> = fc.record({
  kind: fc.constantFrom(
    'mint',
    'mint',
    'burn',
    'transfer',
    'transfer',
    'transfer',
    'lock',
    'merge',
    'transient',
    'noise',
  ),
  from: index,
  to: index,
  instrument: index,
  holding: index,
  amount,
  fee: fc.oneof({ weight: 3, arbitrary: fc.constant(0n) }, { weight: 1, arbitrary: fc.bigInt(1n, 10n ** 10n) }),
  leg: fc.constantFrom('', 'leg'),
});
const step: fc.Arbitrary<Step> = fc.record({
  movements: fc.array(movement, { minLength: 1, maxLength: 6 }),
  telling: fc.constantFrom('events', 'events', 'all', 'choices', 'nothing'),
  feesAreTold: fc.boolean(),
  reassigns: fc.nat(9).map((dice) => dice === 0),
});
/** Steps of a history. */
export const history = fc.array(step, { minLength: 40, maxLength: 60 });
