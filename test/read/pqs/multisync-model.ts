/**
 * Generates contracts that move between synchronizers, and derives the expected results of PQS queries from the frames.
 * An assign may precede the unassign of the same reassignment, as it does when synchronizers are read separately.
 */
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import * as frames from '../../support/frames.ts';
import type { JsonRecord } from '../../support/frames.ts';

/** The lifetime of a contract on one synchronizer, from a create or assign to an archive or unassign. */
export interface Stay {
  readonly contract: string;
  readonly synchronizer: string;
  readonly counter: number;
  readonly begins: 'create' | 'assign';
  from: number;
  to?: number;
  ends?: 'archive' | 'unassign';
}

export interface Half {
  readonly type: 'assign' | 'unassign';
  readonly contract: string;
  readonly counter: number;
  readonly source: string;
  readonly target: string;
  offset: number;
}

export interface MovingContracts {
  readonly frames: readonly JsonRecord[];
  readonly stays: readonly Stay[];
  readonly halves: readonly Half[];
  /** Synchronizers of the updates, in offset order beginning at offset 1. */
  readonly synchronizers: readonly string[];
}

export const places = ['one::1220aa', 'two::1220bb', 'three::1220cc'] as const;

/** An event without an offset. */
interface Step {
  readonly synchronizer: string;
  /** Stores the offset in the model and returns the frame. @param node id of the event */
  readonly at: (offset: number, node: number) => JsonRecord;
}

/** The history of one contract in causal order, except for reassignments whose halves are swapped. */
function life(contract: string, random: Random, stays: Stay[], halves: Half[]): Step[] {
  const created = (offset: number, nodeId: number): JsonRecord =>
    frames.created({ contractId: contract, offset, nodeId });
  let where = places[random.between(0, 2)] ?? places[0];
  let stay: Stay = { contract, synchronizer: where, counter: 0, begins: 'create', from: 0 };
  stays.push(stay);
  const first = stay;
  const steps: Step[] = [
    {
      synchronizer: where,
      at: (offset, node) => {
        first.from = offset;
        return frames.transaction(offset, [{ CreatedEvent: created(offset, node) }], {
          synchronizerId: first.synchronizer,
        });
      },
    },
  ];
  const moves = random.between(0, 4);
  for (let counter = 1; counter <= moves; counter += 1) {
    const [source, target] = [where, places[(places.indexOf(where) + random.between(1, 2)) % 3] ?? places[0]];
    const leaves = stay;
    const arrives: Stay = { contract, synchronizer: target, counter, begins: 'assign', from: 0 };
    const both = { contract, counter, source, target };
    const half = { reassignmentId: `${contract}-${String(counter)}`, source, target, reassignmentCounter: counter };
    const out: Step = {
      synchronizer: source,
      at: (offset, nodeId) => {
        Object.assign(leaves, { to: offset, ends: 'unassign' });
        halves.push({ type: 'unassign', ...both, offset });
        const value = frames.unassigned({ ...half, contractId: contract, offset, nodeId });
        return frames.reassignment(offset, { JsUnassignedEvent: { value } }, source);
      },
    };
    const into: Step = {
      synchronizer: target,
      at: (offset, node) => {
        arrives.from = offset;
        halves.push({ type: 'assign', ...both, offset });
        const event = frames.assigned({ ...half, createdEvent: created(offset, node) });
        return frames.reassignment(offset, { JsAssignmentEvent: event }, target);
      },
    };
    steps.push(...(random.chance(0.4) ? [into, out] : [out, into]));
    stays.push(arrives);
    [where, stay] = [target, arrives];
  }
  const last = stay;
  if (random.chance(0.5))
    steps.push({
      synchronizer: where,
      at: (offset, nodeId) => {
        Object.assign(last, { to: offset, ends: 'archive' });
        const event = frames.exercised({
          contractId: contract,
          offset,
          nodeId,
          lastDescendantNodeId: nodeId,
          consuming: true,
        });
        return frames.transaction(offset, [{ ExercisedEvent: event }], { synchronizerId: last.synchronizer });
      },
    });
  return steps;
}

/** Interleaved histories of contracts. Node ids differ, so that events are distinguishable. */
export function movingContracts(seed: number, count: number): MovingContracts {
  const random = new Random(seed);
  const [stays, halves]: [Stay[], Half[]] = [[], []];
  const lives = Array.from({ length: count }, (_, index) => life(`00c${String(index)}`, random, stays, halves));
  const [made, synchronizers]: [JsonRecord[], string[]] = [[], []];
  while (lives.some((steps) => steps.length > 0)) {
    const left = lives.filter((steps) => steps.length > 0);
    const step = left[random.between(0, left.length - 1)]?.shift();
    if (step === undefined) break;
    const offset = made.length + 1;
    made.push(step.at(offset, offset % 5));
    synchronizers.push(step.synchronizer);
  }
  return { frames: made, stays, halves, synchronizers };
}

/** For each contract, the stay with the highest reassignment counter. */
export function newest(stays: readonly Stay[]): readonly Stay[] {
  const found = new Map<string, Stay>();
  for (const stay of stays) {
    const other = found.get(stay.contract);
    if (other === undefined || other.counter < stay.counter) found.set(stay.contract, stay);
  }
  return [...found.values()];
}

export function activeAt(stays: readonly Stay[], offset: number): readonly Stay[] {
  return stays.filter(({ from, to }) => from <= offset && (to ?? Infinity) > offset);
}
