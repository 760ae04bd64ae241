/** Which contracts a batch begins and ends, against maps with texts as keys. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lifetimes, type End } from '../../src/model/lifetimes.ts';
import { stringOf, Utf8, utf8Of, type Text } from '../../src/model/utf8.ts';

const hash = 'ab'.repeat(24);
/** Ids that differ where little is looked at: in the middle, in the length, in nothing but the last digit. */
const ids = [
  '',
  '0',
  '00',
  'c'.repeat(139),
  `${hash}0${hash}`,
  `${hash}1${hash}`,
  `${hash}${hash}`,
  `${hash}0${hash}0`,
];
const many = Array.from({ length: 2_000 }, (_, index) => `${hash}${String(index)}${hash}`);

interface Step {
  readonly begins: boolean;
  readonly id: Text;
  readonly synchronizerPk: number;
}

const step = fc.record({
  begins: fc.boolean(),
  id: fc.tuple(fc.constantFrom(...ids), fc.boolean()).map(([id, asBytes]): Text => (asBytes ? utf8Of(id) : id)),
  synchronizerPk: fc.integer({ min: 1, max: 2 }),
});

/** The same in the simplest way. */
function modelled(steps: readonly Step[]) {
  const activations: { readonly id: string; readonly offset: number; end: number | null }[] = [];
  const open = new Map<string, (typeof activations)[number]>();
  const ended = new Map<string, number>();
  for (const [offset, { begins, id, synchronizerPk }] of steps.entries()) {
    const key = `${String(synchronizerPk)} ${stringOf(id)}`;
    const known = open.get(key);
    if (begins) {
      const activation = { id: stringOf(id), offset, end: null };
      activations.push(activation);
      open.set(key, activation);
    } else if (known === undefined) ended.set(key, ended.get(key) ?? offset);
    else {
      known.end = offset;
      open.delete(key);
    }
  }
  return { activations, ended };
}

function lived(steps: readonly Step[]): Lifetimes {
  const lifetimes = new Lifetimes();
  for (const [offset, { begins, id: contractId, synchronizerPk }] of steps.entries()) {
    const end: End = { offset, nodeId: 0, by: 'archive', at: null };
    if (begins) lifetimes.activate({ contractId, offset, nodeId: 0, templatePk: 1, synchronizerPk, partiesPk: 1 });
    else lifetimes.deactivate(contractId, synchronizerPk, end);
  }
  return lifetimes;
}

function expectAsModelled(steps: readonly Step[]): void {
  const { activations, ended } = modelled(steps);
  const lifetimes = lived(steps);
  const live = lifetimes.live().map((row) => [row[0], String(row[5])]);
  expect(live).toEqual(activations.filter(({ end }) => end === null).map(({ id, offset }) => [offset, id]));
  const gone = lifetimes.ended().map((row) => [row[0], row[1], String(row[8])]);
  expect(gone).toEqual(activations.filter(({ end }) => end !== null).map(({ id, offset, end }) => [offset, end, id]));
  const left = lifetimes
    .deactivations()
    .map((d) => `${String(d.synchronizerPk)} ${stringOf(d.contractId)} ${String(d.end.offset)}`);
  expect(left.toSorted()).toEqual([...ended].map(([key, offset]) => `${key} ${String(offset)}`).toSorted());
}

describe('lifetimes', () => {
  it('are those of maps with texts as keys, however alike ids are, as strings and as bytes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        expectAsModelled(steps);
      }),
      { numRuns: 500 },
    );
  });

  it('are those of thousands of contracts', () => {
    const step = (id: string, begins: boolean): Step => ({ begins, id, synchronizerPk: 1 });
    expectAsModelled([...many.map((id) => step(id, true)), ...many.slice(500).map((id) => step(id, false))]);
    expectAsModelled([...many.map((id) => step(id, false)), ...many.map((id) => step(id, true))]);
  });

  it('have copies of the ids that are needed when the frames are gone', () => {
    const memory = Buffer.from('00aa');
    const lifetimes = new Lifetimes();
    lifetimes.deactivate(new Utf8(memory, 0, memory.length), 1, { offset: 1, nodeId: 0, by: 'archive', at: null });
    const [ended] = lifetimes.deactivations();
    memory.fill(0);
    expect(ended === undefined ? undefined : stringOf(ended.contractId)).toBe('00aa');
  });
});
