/** The recorded samples: which of them the two streams can deliver, and why the others are left out. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Message } from './sample-leaves.ts';

export interface Sample {
  readonly name: string;
  readonly frame: Message;
}
export interface Samples {
  readonly updates: readonly Sample[];
  readonly checkpoints: readonly Sample[];
  readonly entries: readonly Sample[];
  /** `file: reason`. */
  readonly excluded: readonly string[];
}

/** Every sample of the folder, in the order of their names. */
export function readSamples(folder: string): Samples {
  const found = {
    updates: [] as Sample[],
    checkpoints: [] as Sample[],
    entries: [] as Sample[],
    excluded: [] as string[],
  };
  const names = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.json'));
  for (const name of names.sort()) {
    const body: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    const parts = Array.isArray(body) ? (body as Message[]) : [body as Message];
    for (const part of parts) {
      const frame = asFrame(part);
      if (frame === undefined) found.excluded.push(`${name}: ${reason(part)}`);
      else if ('contractEntry' in frame) found.entries.push({ name, frame });
      else if ('OffsetCheckpoint' in (frame['update'] as Message)) found.checkpoints.push({ name, frame });
      else found.updates.push({ name, frame });
    }
  }
  return found;
}

function asFrame(part: Message): Message | undefined {
  if ('update' in part || 'contractEntry' in part) return part;
  const bare = 'transaction' in part ? part['transaction'] : 'events' in part && 'updateId' in part ? part : undefined;
  return bare === undefined ? undefined : { update: { Transaction: { value: bare } } };
}

function reason(part: Message): string {
  if ('transactionTree' in part) return 'a transaction tree, which no stream of this version delivers';
  if ('created' in part || 'archived' in part) return 'events by contract id, a point query';
  if ('cause' in part || 'errors' in part) return 'an error';
  if ('commands' in part || 'updateFormat' in part || 'eventFormat' in part || 'filter' in part) return 'a request';
  return 'the answer of another endpoint, or a value alone';
}
