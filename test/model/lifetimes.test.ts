/** Contracts that a batch begins and ends, compared with a reference model of maps with text keys. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lifetimes, type End } from '../../src/model/lifetimes.ts';
import { stringOf, Utf8, utf8Of, type Text } from '../../src/model/utf8.ts';
import { expectProperty } from '../support/chance/property.ts';

const hash = 'ab'.repeat(24);
/** Similar ids: they differ only in the middle, in the length or in the last digit. */
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

/** The reference model in plain maps. Offsets begin at 1. */
function modelled(steps: readonly Step[]) {
  const activations: { readonly id: string; readonly offset: number; end: number | null }[] = [];
  const open = new Map<string, (typeof activations)[number]>();
  const ended = new Map<string, number>();
  for (const [index, { begins, id, synchronizerPk }] of steps.entries()) {
    const offset = index + 1;
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

/** Times when contracts ended, chosen by offset. They include an unknown time, 0 and a time above 2^53. */
const times = [null, 0, -7, 2n ** 53n + 1n];

function live(lifetimes: Lifetimes, steps: readonly Step[]): void {
  for (const [index, { begins, id: contractId, synchronizerPk }] of steps.entries()) {
    const offset = index + 1;
    const places = { offset, nodeId: offset % 3, synchronizerPk };
    if (begins) lifetimes.activate({ ...places, contractId, templatePk: offset % 5, partiesPk: offset % 7 });
    else lifetimes.deactivate(contractId, synchronizerPk, endAt(offset));
  }
}

function endAt(offset: number): End {
  const archived = offset % 3 > 0;
  const at = times[offset % times.length] ?? null;
  return { offset, nodeId: archived ? offset : null, by: archived ? 'archive' : 'reassignment', at };
}

function expectAsModelled(steps: readonly Step[], lifetimes = new Lifetimes()): void {
  const { activations, ended } = modelled(steps);
  live(lifetimes, steps);
  const facts = (offset: number): readonly number[] => [offset % 3, offset % 5, steps[offset - 1]?.synchronizerPk ?? 0];
  const [open, closed] = [false, true].map((over) => activations.filter(({ end }) => (end !== null) === over));
  // Compares texts, because thousands of texts can be compared quickly.
  expect([...lifetimes.live()].map((row) => row.join(' '))).toEqual(
    open?.map(({ id, offset }) => [offset, ...facts(offset), offset % 7, id].join(' ')),
  );
  expect(
    [...lifetimes.ended()].map(([offset, end, node, template, synchronizer, parties, , by, id, at, endNode]) =>
      [offset, node, template, synchronizer, parties, id, end, by, at ?? 'never', endNode ?? 'none'].join(' '),
    ),
  ).toEqual(
    closed?.map(({ id, offset, end }) => {
      const { nodeId, by, at } = endAt(end ?? 0);
      const ended = [end, by === 'archive' ? 'a' : 'r', at ?? 'never', nodeId ?? 'none'];
      return [offset, ...facts(offset), offset % 7, id, ...ended].join(' ');
    }),
  );
  const ends = [...lifetimes.deactivations()];
  const formatEnd = ({ offset, nodeId, by, at }: End): string =>
    [offset, nodeId ?? 'none', by, at ?? 'never'].join(' ');
  expect(ends.map(({ end }) => formatEnd(end))).toEqual(ends.map(({ end }) => formatEnd(endAt(end.offset))));
  const left = ends.map(
    ({ contractId, synchronizerPk, end }) => `${String(synchronizerPk)} ${stringOf(contractId)} ${String(end.offset)}`,
  );
  expect(left.toSorted()).toEqual([...ended].map(([key, offset]) => `${key} ${String(offset)}`).toSorted());
  expect(lifetimes.contractIds()).toEqual(activations.map(({ id }) => id));
}

describe('Lifetimes', () => {
  it('matches the reference model for similar contract ids, as strings and as bytes', () => {
    expectProperty(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        expectAsModelled(steps);
      }),
      500,
    );
  });

  it('contains only the current batch after clear()', () => {
    const lifetimes = new Lifetimes();
    const batches = fc.array(step, { maxLength: 40 });
    expectProperty(
      fc.property(batches, (steps) => {
        lifetimes.clear();
        expectAsModelled(steps, lifetimes);
        expect(lifetimes.repeated).toBe(false);
      }),
      500,
    );
  });

  it('is empty after clear(), even if a contract began twice at an offset', () => {
    const lifetimes = new Lifetimes();
    const begin = { contractId: '00aa', offset: 1, nodeId: 0, templatePk: 1, synchronizerPk: 1, partiesPk: 1 };
    lifetimes.activate(begin);
    lifetimes.activate(begin);
    expect(lifetimes.repeated).toBe(true);
    lifetimes.clear();
    expect(lifetimes.repeated).toBe(false);
    lifetimes.activate(begin);
    expect([lifetimes.repeated, [...lifetimes.live()].length]).toEqual([false, 1]);
  });

  it('matches the reference model for thousands of contracts and for a few afterwards', () => {
    const step = (id: string, begins: boolean): Step => ({ begins, id, synchronizerPk: 1 });
    const lifetimes = new Lifetimes();
    const alike = (_: unknown, index: number): string => `${hash}${String(index)}${hash}`;
    const distinctId = (_: unknown, index: number): string => `${String(index)}${hash}`;
    for (const ids of [
      Array.from({ length: 1_000 }, alike),
      Array.from({ length: 20_000 }, distinctId),
      Array.from({ length: 3 }, alike),
    ]) {
      const began = ids.map((id) => step(id, true));
      const ended = ids.map((id) => step(id, false));
      expectAsModelled([...began, ...ended.slice(ids.length / 4)], lifetimes);
      lifetimes.clear();
      expectAsModelled([...ended, ...began], lifetimes);
      lifetimes.clear();
    }
  });

  it('copies contract ids, because the memory of frames is reused', () => {
    const memory = Buffer.from('00aa');
    const lifetimes = new Lifetimes();
    lifetimes.deactivate(new Utf8(memory, 0, memory.length), 1, endAt(1));
    memory.fill(0);
    expect([...lifetimes.deactivations()].map(({ contractId }) => stringOf(contractId))).toEqual(['00aa']);
  });
});
