/** The samples that the two streams can deliver. */
import { fixture, sampleNames } from '../../support/wire/fixtures.ts';
import type { Message } from './sample-leaves.ts';

export interface Sample {
  readonly name: string;
  readonly frame: Message;
}
export interface Samples {
  readonly updates: readonly Sample[];
  readonly checkpoints: readonly Sample[];
  readonly entries: readonly Sample[];
}

/** In the order of their names. */
export function readSamples(): Samples {
  const found = { updates: [] as Sample[], checkpoints: [] as Sample[], entries: [] as Sample[] };
  for (const name of sampleNames()) {
    const body: unknown = JSON.parse(fixture(`samples/${name}`));
    const parts = Array.isArray(body) ? (body as Message[]) : [body as Message];
    for (const part of parts) {
      const frame = asFrame(part);
      if (frame === undefined) continue;
      if ('contractEntry' in frame) found.entries.push({ name, frame });
      else if ('OffsetCheckpoint' in (frame['update'] as Message)) found.checkpoints.push({ name, frame });
      else found.updates.push({ name, frame });
    }
  }
  return found;
}

/** Undefined for messages that no stream delivers: rejections, and the responses of other endpoints. */
function asFrame(part: Message): Message | undefined {
  if ('update' in part || 'contractEntry' in part) return part;
  const bare = 'transaction' in part ? part['transaction'] : 'events' in part && 'updateId' in part ? part : undefined;
  return bare === undefined ? undefined : { update: { Transaction: { value: bare } } };
}
