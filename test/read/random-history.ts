/** Random valid histories of one participant: contracts are created, exercised, archived and reassigned. */
import type { JsonRecord } from '../support/frames.ts';
import * as frames from '../support/frames.ts';

/** A function that returns random numbers in [0, 1). Equal seeds return equal numbers. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const templates = ['A', 'B', 'C'].map((name) => `${'ab'.repeat(32)}:Main:${name}`);
const synchronizers = [frames.here, frames.there];

interface LiveContract {
  readonly contractId: string;
  readonly templateId: string;
  readonly synchronizerId: string;
  readonly counter: number;
}

/** Record times rise with the offset, as they do on each synchronizer. */
function recordMs(offset: number): number {
  return Date.UTC(2026, 7, 14, 10) + offset * 97_003;
}

/** The ISO time with microseconds from a fraction of a millisecond. */
function isoTime(ms: number, fraction: number): string {
  const micros = String(Math.floor(fraction * 1000)).padStart(3, '0');
  return new Date(ms).toISOString().replace('Z', `${micros}Z`);
}

function reassignmentAt(offset: number, reassignmentEvent: JsonRecord, synchronizerId: string): JsonRecord {
  const frame = frames.text(frames.reassignment(offset, reassignmentEvent, synchronizerId));
  return JSON.parse(frame.replace(frames.recordTime, isoTime(recordMs(offset), 0))) as JsonRecord;
}

/** The updates at offsets 1 to `length`. */
export function randomHistory(seed: number, length: number): readonly JsonRecord[] {
  const random = randomFrom(seed);
  const liveContracts: LiveContract[] = [];
  const pickOne = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const takeContract = (): LiveContract | undefined =>
    liveContracts.splice(Math.floor(random() * liveContracts.length), 1)[0];

  const create = (offset: number, nodeId: number, synchronizerId: string): JsonRecord => {
    const templateId = pickOne(templates);
    const contractId = `c${String(offset)}-${String(nodeId)}`;
    const acsDelta = random() < 0.9;
    if (acsDelta) liveContracts.push({ contractId, templateId, synchronizerId, counter: 0 });
    return { CreatedEvent: frames.created({ offset, nodeId, contractId, templateId, acsDelta }) };
  };
  const exercise = (offset: number, nodeId: number, contract: LiveContract | undefined): JsonRecord => {
    // The event may have a newer package than the create, or be of a contract that was never seen.
    const templateId = contract?.templateId.replace('ab', random() < 0.5 ? 'ab' : 'ef') ?? templates[0] ?? '';
    const contractId = contract?.contractId ?? `unseen${String(offset)}-${String(nodeId)}`;
    return {
      ExercisedEvent: frames.exercised({ offset, nodeId, contractId, templateId, choice: pickOne(['Go', 'Stop']) }),
    };
  };
  const event = (offset: number, nodeId: number, synchronizerId: string): JsonRecord => {
    const roll = random();
    if (roll < 0.6) return create(offset, nodeId, synchronizerId);
    if (roll < 0.65) return exercise(offset, nodeId, undefined);
    const index = liveContracts.findIndex((contract) => contract.synchronizerId === synchronizerId);
    return index < 0
      ? create(offset, nodeId, synchronizerId)
      : exercise(offset, nodeId, liveContracts.splice(index, 1)[0]);
  };
  const times = (offset: number): JsonRecord => {
    const effectiveAt = isoTime(recordMs(offset) - random() * 5_000, random());
    const cost = random() < 0.5 ? Math.floor(random() * 10_000) : null;
    return { recordTime: isoTime(recordMs(offset), random()), effectiveAt, paidTrafficCost: cost };
  };
  const reassign = (offset: number, from: LiveContract): JsonRecord => {
    const target = from.synchronizerId === frames.here ? frames.there : frames.here;
    const move = {
      contractId: from.contractId,
      templateId: from.templateId,
      source: from.synchronizerId,
      target,
      offset,
    };
    return reassignmentAt(offset, { JsUnassignedEvent: { value: frames.unassigned(move) } }, from.synchronizerId);
  };
  const arrive = (offset: number, from: LiveContract): JsonRecord => {
    const target = from.synchronizerId === frames.here ? frames.there : frames.here;
    const createdEvent = frames.created({ offset, contractId: from.contractId, templateId: from.templateId });
    liveContracts.push({ ...from, synchronizerId: target, counter: from.counter + 1 });
    const assignedEvent = frames.assigned({ source: from.synchronizerId, target, createdEvent });
    return reassignmentAt(offset, { JsAssignmentEvent: assignedEvent }, target);
  };

  const history: JsonRecord[] = [];
  while (history.length < length) {
    const offset = history.length + 1;
    const inFlightContract = random() < 0.15 ? takeContract() : undefined;
    if (inFlightContract !== undefined) {
      history.push(reassign(offset, inFlightContract), arrive(offset + 1, inFlightContract));
      continue;
    }
    const synchronizerId = pickOne(synchronizers);
    const count = 1 + Math.floor(random() * 4);
    const events = Array.from({ length: count }, (_, nodeId) => event(offset, nodeId, synchronizerId));
    history.push(frames.transaction(offset, events, { synchronizerId, ...times(offset) }));
  }
  return history.slice(0, length);
}
