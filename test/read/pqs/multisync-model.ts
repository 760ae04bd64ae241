/**
 * Generates contracts that move between synchronizers, and derives the expected results of PQS queries from the frames.
 * An assign may precede the unassign of the same reassignment, as it does when synchronizers are read separately.
 */
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import * as frames from '../../support/frames.ts';
import type { JsonRecord } from '../../support/frames.ts';

/** The lifetime of a contract on one synchronizer, from a create or assign to an archive or unassign. */
export interface SynchronizerStay {
  readonly contract: string;
  readonly synchronizer: string;
  readonly counter: number;
  readonly begins: 'create' | 'assign';
  from: number;
  to?: number;
  ends?: 'archive' | 'unassign';
}

export interface ReassignmentHalf {
  readonly type: 'assign' | 'unassign';
  readonly contract: string;
  readonly counter: number;
  readonly source: string;
  readonly target: string;
  offset: number;
}

export interface MovingContracts {
  readonly frames: readonly JsonRecord[];
  readonly stays: readonly SynchronizerStay[];
  readonly halves: readonly ReassignmentHalf[];
  /** Synchronizers of the updates, in offset order beginning at offset 1. */
  readonly synchronizers: readonly string[];
}

export const synchronizerIds = ['one::1220aa', 'two::1220bb', 'three::1220cc'] as const;

/** An event without an offset. */
interface Step {
  readonly synchronizer: string;
  /** Stores the offset in the model and returns the frame. @param node id of the event */
  readonly at: (offset: number, node: number) => JsonRecord;
}

/** The history of one contract in causal order, except for reassignments whose halves are swapped. */
function contractLife(
  contract: string,
  random: Random,
  synchronizerStays: SynchronizerStay[],
  halves: ReassignmentHalf[],
): Step[] {
  const createFrame = (offset: number, nodeId: number): JsonRecord =>
    frames.created({ contractId: contract, offset, nodeId });
  let currentSynchronizer = synchronizerIds[random.between(0, 2)] ?? synchronizerIds[0];
  let synchronizerStay: SynchronizerStay = {
    contract,
    synchronizer: currentSynchronizer,
    counter: 0,
    begins: 'create',
    from: 0,
  };
  synchronizerStays.push(synchronizerStay);
  const first = synchronizerStay;
  const steps: Step[] = [
    {
      synchronizer: currentSynchronizer,
      at: (offset, node) => {
        first.from = offset;
        return frames.transaction(offset, [{ CreatedEvent: createFrame(offset, node) }], {
          synchronizerId: first.synchronizer,
        });
      },
    },
  ];
  const moveCount = random.between(0, 4);
  for (let counter = 1; counter <= moveCount; counter += 1) {
    const [source, target] = [
      currentSynchronizer,
      synchronizerIds[(synchronizerIds.indexOf(currentSynchronizer) + random.between(1, 2)) % 3] ?? synchronizerIds[0],
    ];
    const unassignedStay = synchronizerStay;
    const assignedStay: SynchronizerStay = { contract, synchronizer: target, counter, begins: 'assign', from: 0 };
    const reassignment = { contract, counter, source, target };
    const reassignmentFields = {
      reassignmentId: `${contract}-${String(counter)}`,
      source,
      target,
      reassignmentCounter: counter,
    };
    const unassignStep: Step = {
      synchronizer: source,
      at: (offset, nodeId) => {
        Object.assign(unassignedStay, { to: offset, ends: 'unassign' });
        halves.push({ type: 'unassign', ...reassignment, offset });
        const value = frames.unassigned({ ...reassignmentFields, contractId: contract, offset, nodeId });
        return frames.reassignment(offset, { JsUnassignedEvent: { value } }, source);
      },
    };
    const assignStep: Step = {
      synchronizer: target,
      at: (offset, node) => {
        assignedStay.from = offset;
        halves.push({ type: 'assign', ...reassignment, offset });
        const event = frames.assigned({ ...reassignmentFields, createdEvent: createFrame(offset, node) });
        return frames.reassignment(offset, { JsAssignmentEvent: event }, target);
      },
    };
    steps.push(...(random.chance(0.4) ? [assignStep, unassignStep] : [unassignStep, assignStep]));
    synchronizerStays.push(assignedStay);
    [currentSynchronizer, synchronizerStay] = [target, assignedStay];
  }
  const last = synchronizerStay;
  if (random.chance(0.5))
    steps.push({
      synchronizer: currentSynchronizer,
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
  const [synchronizerStays, halves]: [SynchronizerStay[], ReassignmentHalf[]] = [[], []];
  const contractLives = Array.from({ length: count }, (_, index) =>
    contractLife(`00c${String(index)}`, random, synchronizerStays, halves),
  );
  const [createdFrames, synchronizers]: [JsonRecord[], string[]] = [[], []];
  while (contractLives.some((steps) => steps.length > 0)) {
    const remainingLives = contractLives.filter((steps) => steps.length > 0);
    const step = remainingLives[random.between(0, remainingLives.length - 1)]?.shift();
    if (step === undefined) break;
    const offset = createdFrames.length + 1;
    createdFrames.push(step.at(offset, offset % 5));
    synchronizers.push(step.synchronizer);
  }
  return { frames: createdFrames, stays: synchronizerStays, halves, synchronizers };
}

/** For each contract, the stay with the highest reassignment counter. */
export function newestStays(synchronizerStays: readonly SynchronizerStay[]): readonly SynchronizerStay[] {
  const newestByContract = new Map<string, SynchronizerStay>();
  for (const synchronizerStay of synchronizerStays) {
    const previousStay = newestByContract.get(synchronizerStay.contract);
    if (previousStay === undefined || previousStay.counter < synchronizerStay.counter)
      newestByContract.set(synchronizerStay.contract, synchronizerStay);
  }
  return [...newestByContract.values()];
}

export function activeAt(synchronizerStays: readonly SynchronizerStay[], offset: number): readonly SynchronizerStay[] {
  return synchronizerStays.filter(({ from, to }) => from <= offset && (to ?? Infinity) > offset);
}
