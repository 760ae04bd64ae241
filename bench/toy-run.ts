/** Runs the toy implementation for comparison. */
import { once } from 'node:events';
import { startChild } from './child.ts';
import type { Server } from './postgres.ts';
import { openingTransactions, type Profile } from './replay/profiles.ts';
import type { Recording } from './replay/recording.ts';
import { startReplay } from './replay/replay.ts';

export interface ToyRun {
  readonly events: number;
  readonly seconds: number;
}

export interface ToyOptions {
  readonly server: Server;
  readonly profile: Profile;
  readonly recording: Recording;
  readonly transactions: number;
  readonly seconds: number;
}

/** Counts the events that the toy stores in the given number of seconds. */
export async function runToy({ server, profile, recording, transactions, seconds }: ToyOptions): Promise<ToyRun> {
  const database = await server.createDatabase();
  const frames = openingTransactions(profile) + transactions;
  const replay = await startReplay({ updates: { path: recording.path, frames }, ledgerEnd: frames });
  const toy = startChild({ file: 'toy.js', args: [replay.url, database.url, String(seconds)] });
  try {
    const [message] = (await Promise.race([once(toy.process, 'message'), toy.died])) as [ToyRun];
    return message;
  } finally {
    await toy.stop();
    await replay.stop();
    await database.drop();
  }
}
