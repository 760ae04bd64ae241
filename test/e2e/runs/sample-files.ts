/** The samples of messages that the two streams can contain. */
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

/** Reads the samples, in the order of their file names. */
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

/**
 * The message as a frame; undefined for messages that no stream sends, such as rejections and responses of other
 * endpoints.
 */
function asFrame(part: Message): Message | undefined {
  if ('update' in part || 'contractEntry' in part) return part;
  const bare = 'transaction' in part ? part['transaction'] : 'events' in part && 'updateId' in part ? part : undefined;
  return bare === undefined ? undefined : { update: { Transaction: { value: bare } } };
}
