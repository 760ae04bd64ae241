/** A ledger that grows on request, a database, and daemons, for tests that kill or disconnect a daemon. */
import { expect } from 'vitest';
import { Steps } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import type { TestDatabase } from '../../support/database.ts';
import { digestOf } from '../../support/digest.ts';
import { assertBuilt, startDaemon, type Daemon } from './daemon.ts';
import { watchStored, type StoredStream } from './stored.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;
const secondMicros = 1_000_000;

export interface World extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly stored: StoredStream;
  /** Appends updates. The same calls produce the same history. */
  grow(updates: number): void;
  /** Number of appended updates. */
  updates(): number;
  start(schema: string, env?: Readonly<Record<string, string>>): Daemon;
  /** Stops the daemon as an operator would, after everything is stored, and returns a digest of the stored rows. */
  finish(daemon: Daemon, schema: string): Promise<string>;
}

export async function createWorld(seed: number, database: TestDatabase): Promise<World> {
  assertBuilt();
  const sandbox = await startSandbox({ seed, now: () => startAt / 1000 });
  const stored = await watchStored(database.url);
  const steps = new Steps(sandbox.ledger, seed);
  let updateCount = 0;
  return {
    sandbox,
    database,
    stored,
    grow: (updates) => {
      for (const end = updateCount + updates; updateCount < end; updateCount += 1)
        steps.step(startAt + updateCount * secondMicros);
    },
    updates: () => updateCount,
    start: (schema, env) => startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema, env: env ?? {} }),
    finish: async (daemon, schema) => {
      await stored.reaches(daemon, schema, sandbox.ledger.ledgerEnd());
      daemon.signal('SIGTERM');
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
      return digestOf(database.url, schema);
    },
    [Symbol.asyncDispose]: async () => {
      await stored[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
    },
  };
}

/** Waits until at least this many more offsets are stored. */
export async function progress(world: World, daemon: Daemon, schema: string, offsets: number): Promise<number> {
  const from = (await world.stored.checkpoint(schema)) ?? 0;
  return world.stored.reaches(daemon, schema, from + offsets);
}
