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
  const samplesFound = { updates: [] as Sample[], checkpoints: [] as Sample[], entries: [] as Sample[] };
  for (const name of sampleNames()) {
    const body: unknown = JSON.parse(fixture(`samples/${name}`));
    const sampleParts = Array.isArray(body) ? (body as Message[]) : [body as Message];
    for (const samplePart of sampleParts) {
      const frame = asFrame(samplePart);
      if (frame === undefined) continue;
      if ('contractEntry' in frame) samplesFound.entries.push({ name, frame });
      else if ('OffsetCheckpoint' in (frame['update'] as Message)) samplesFound.checkpoints.push({ name, frame });
      else samplesFound.updates.push({ name, frame });
    }
  }
  return samplesFound;
}

/**
 * The message as a frame; undefined for messages that no stream sends, such as rejections and responses of other
 * endpoints.
 */
function asFrame(samplePart: Message): Message | undefined {
  if ('update' in samplePart || 'contractEntry' in samplePart) return samplePart;
  const rootField =
    'transaction' in samplePart
      ? samplePart['transaction']
      : 'events' in samplePart && 'updateId' in samplePart
        ? samplePart
        : undefined;
  return rootField === undefined ? undefined : { update: { Transaction: { value: rootField } } };
}
