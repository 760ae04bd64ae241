/** The frames to damage: the samples, and one frame of every kind. */
import { readSamples } from '../e2e/runs/sample-files.ts';
import * as made from '../support/frames.ts';
import { canary } from './mutations.ts';

export interface Frame {
  readonly stream: 'updates' | 'active-contracts';
  readonly text: string;
}

/** Longer frames are omitted, because they would mostly test JSON.parse. */
const maxFrameBytes = 20_000;

/** All frames, with payloads that contain the marker text of `mutations.ts`. */
export function framesToDamage(): readonly Frame[] {
  const updates: unknown[] = [
    made.fullTransaction(),
    made.reassignment(50, { JsUnassignedEvent: { value: made.unassigned() } }),
    made.reassignment(51, { JsAssignmentEvent: made.assigned() }),
    made.topology(52),
    made.offsetCheckpoint(53),
    made.update('Novelty', { offset: 54, createArgument: { owner: made.alice } }),
  ];
  const entries: unknown[] = [
    made.activeEntry(),
    made.entry('JsIncompleteUnassigned', { createdEvent: made.created(), unassignedEvent: made.unassigned() }),
    made.entry('JsIncompleteAssigned', { assignedEvent: made.assigned() }),
    made.entry('JsEmpty', {}),
  ];
  const samples = readSamples();
  updates.push(...[...samples.updates, ...samples.checkpoints].map(({ frame }) => frame));
  entries.push(...samples.entries.map(({ frame }) => frame));
  return [
    ...updates.map((frame) => ({ stream: 'updates' as const, text: markStrings(frame) })),
    ...entries.map((frame) => ({ stream: 'active-contracts' as const, text: markStrings(frame) })),
  ].filter(({ text }) => text.length <= maxFrameBytes);
}

const payloads = new Set(['createArgument', 'choiceArgument', 'exerciseResult', 'contractKey', 'viewValue', 'value']);

function markStrings(frame: unknown): string {
  return JSON.stringify(mark(frame, false));
}

function mark(value: unknown, isInsidePayload: boolean): unknown {
  if (typeof value === 'string') return isInsidePayload ? `${canary} ${value}` : value;
  if (Array.isArray(value)) return value.map((child) => mark(child, isInsidePayload));
  if (typeof value !== 'object' || value === null) return value;
  // `value` is also the wrapper of updates and events, so it does not mark a payload.
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      mark(child, isInsidePayload || (payloads.has(key) && key !== 'value')),
    ]),
  );
}
