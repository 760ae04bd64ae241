/** Contracts that a batch begins and ends, compared with a reference model of maps with text keys. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lifetimes, type ContractEnd } from '../../src/model/lifetimes.ts';
import { stringOf, Utf8, utf8Of, type TextOrUtf8 } from '../../src/model/utf8.ts';
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
  readonly id: TextOrUtf8;
  readonly synchronizerPk: number;
}

const step = fc.record({
  begins: fc.boolean(),
  id: fc.tuple(fc.constantFrom(...ids), fc.boolean()).map(([id, asBytes]): TextOrUtf8 => (asBytes ? utf8Of(id) : id)),
  synchronizerPk: fc.integer({ min: 1, max: 2 }),
});

/** The reference model in plain maps. Offsets begin at 1. */
function modelLifetimes(steps: readonly Step[]) {
  const activations: { readonly id: string; readonly offset: number; end: number | null }[] = [];
  const openActivations = new Map<string, (typeof activations)[number]>();
  const endedContracts = new Map<string, number>();
  for (const [index, { begins: isBegin, id, synchronizerPk }] of steps.entries()) {
    const offset = index + 1;
    const key = `${String(synchronizerPk)} ${stringOf(id)}`;
    const openActivation = openActivations.get(key);
    if (isBegin) {
      const activation = { id: stringOf(id), offset, end: null };
      activations.push(activation);
      openActivations.set(key, activation);
    } else if (openActivation === undefined) endedContracts.set(key, endedContracts.get(key) ?? offset);
    else {
      openActivation.end = offset;
      openActivations.delete(key);
    }
  }
  return { activations, ended: endedContracts };
}

/** Times when contracts ended, chosen by offset. They include an unknown time, 0 and a time above 2^53. */
const times = [null, 0, -7, 2n ** 53n + 1n];

function expectLive(lifetimes: Lifetimes, steps: readonly Step[]): void {
  for (const [index, { begins: isBegin, id: contractId, synchronizerPk }] of steps.entries()) {
    const offset = index + 1;
    const positionFields = { offset, nodeId: offset % 3, synchronizerPk };
    if (isBegin) lifetimes.activate({ ...positionFields, contractId, templatePk: offset % 5, partiesPk: offset % 7 });
    else lifetimes.deactivate(contractId, synchronizerPk, endAt(offset));
  }
}

function endAt(offset: number): ContractEnd {
  const isArchived = offset % 3 > 0;
  const effectiveAt = times[offset % times.length] ?? null;
  return { offset, nodeId: isArchived ? offset : null, by: isArchived ? 'archive' : 'reassignment', at: effectiveAt };
}

function expectModelMatch(steps: readonly Step[], lifetimes = new Lifetimes()): void {
  const { activations, ended: endedContracts } = modelLifetimes(steps);
  expectLive(lifetimes, steps);
  const facts = (offset: number): readonly number[] => [offset % 3, offset % 5, steps[offset - 1]?.synchronizerPk ?? 0];
  const [openActivations, closedSteps] = [false, true].map((isClosed) =>
    activations.filter(({ end }) => (end !== null) === isClosed),
  );
  // Compares texts, because thousands of texts can be compared quickly.
  expect([...lifetimes.live()].map((row) => row.join(' '))).toEqual(
    openActivations?.map(({ id, offset }) => [offset, ...facts(offset), offset % 7, id].join(' ')),
  );
  expect(
    [...lifetimes.ended()].map(([offset, end, node, template, synchronizer, parties, , endedBy, id, at, endNode]) =>
      [offset, node, template, synchronizer, parties, id, end, endedBy, at ?? 'never', endNode ?? 'none'].join(' '),
    ),
  ).toEqual(
    closedSteps?.map(({ id, offset, end }) => {
      const { nodeId, by: endedBy, at } = endAt(end ?? 0);
      const endText = [end, endedBy === 'archive' ? 'a' : 'r', at ?? 'never', nodeId ?? 'none'];
      return [offset, ...facts(offset), offset % 7, id, ...endText].join(' ');
    }),
  );
  const deactivations = [...lifetimes.deactivations()];
  const formatEnd = ({ offset, nodeId, by: endedBy, at }: ContractEnd): string =>
    [offset, nodeId ?? 'none', endedBy, at ?? 'never'].join(' ');
  expect(deactivations.map(({ end }) => formatEnd(end))).toEqual(
    deactivations.map(({ end }) => formatEnd(endAt(end.offset))),
  );
  const openLifetimes = deactivations.map(
    ({ contractId, synchronizerPk, end }) => `${String(synchronizerPk)} ${stringOf(contractId)} ${String(end.offset)}`,
  );
  expect(openLifetimes.toSorted()).toEqual(
    [...endedContracts].map(([key, offset]) => `${key} ${String(offset)}`).toSorted(),
  );
  expect(lifetimes.contractIds()).toEqual(activations.map(({ id }) => id));
}

describe('Lifetimes', () => {
  it('matches the reference model for similar contract ids, as strings and as bytes', () => {
    expectProperty(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        expectModelMatch(steps);
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
        expectModelMatch(steps, lifetimes);
        expect(lifetimes.repeated).toBe(false);
      }),
      500,
    );
  });

  it('is empty after clear(), even if a contract began twice at an offset', () => {
    const lifetimes = new Lifetimes();
    const beginEvent = { contractId: '00aa', offset: 1, nodeId: 0, templatePk: 1, synchronizerPk: 1, partiesPk: 1 };
    lifetimes.activate(beginEvent);
    lifetimes.activate(beginEvent);
    expect(lifetimes.repeated).toBe(true);
    lifetimes.clear();
    expect(lifetimes.repeated).toBe(false);
    lifetimes.activate(beginEvent);
    expect([lifetimes.repeated, [...lifetimes.live()].length]).toEqual([false, 1]);
  });

  it('matches the reference model for thousands of contracts and for a few afterwards', () => {
    const step = (id: string, isBegin: boolean): Step => ({ begins: isBegin, id, synchronizerPk: 1 });
    const lifetimes = new Lifetimes();
    const fillHash = (_: unknown, index: number): string => `${hash}${String(index)}${hash}`;
    const distinctId = (_: unknown, index: number): string => `${String(index)}${hash}`;
    for (const ids of [
      Array.from({ length: 1_000 }, fillHash),
      Array.from({ length: 20_000 }, distinctId),
      Array.from({ length: 3 }, fillHash),
    ]) {
      const beginSteps = ids.map((id) => step(id, true));
      const endSteps = ids.map((id) => step(id, false));
      expectModelMatch([...beginSteps, ...endSteps.slice(ids.length / 4)], lifetimes);
      lifetimes.clear();
      expectModelMatch([...endSteps, ...beginSteps], lifetimes);
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
