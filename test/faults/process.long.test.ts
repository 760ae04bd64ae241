/** Tests faults of the process: an uncaught error, another stream that fails, and too little memory. */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { watchStored, type StoredStream } from '../e2e/runs/stored.ts';
import { canaryWord } from '../support/canary.ts';
import { query } from '../support/database.ts';
import { FaultWorld, waitUntilParked } from './fault-world.ts';
import { needs, linuxSkipReason } from '../support/skips/needs.ts';

let world: FaultWorld;
let stored: StoredStream;
beforeEach(async () => {
  world = await FaultWorld.open();
  stored = await watchStored(world.database.url);
});
afterEach(async () => {
  await stored[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Starts the built program, which also runs this code. */
function daemon(schema: string, code = ''): Daemon {
  const NODE_OPTIONS = code === '' ? '' : `--import=data:text/javascript,${encodeURIComponent(code)}`;
  const env = { INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '5', NODE_OPTIONS };
  return startDaemon({ ledgerUrl: world.sandbox.url, databaseUrl: world.database.url, schema, env });
}

describe('an uncaught error', () => {
  const canary = canaryWord();
  // The secret is written in two halves, so that the source location of the error does not reveal it.
  const message = `'${canary.slice(0, 9)}' + '${canary.slice(9)}'`;

  it.each([
    ['thrown', `setTimeout(() => { throw new Error(${message}) }, 1500)`],
    ['rejected promise', `setTimeout(() => { void Promise.reject(new Error(${message})) }, 1500)`],
  ])('ends the process with 70 without printing a secret (%s)', async (_endName, code) => {
    world.grow(800);
    {
      await using brokenIndexer = daemon('ledger', code);
      await brokenIndexer.exited;
      expect(brokenIndexer.exit()).toEqual({ code: 70, signal: null });
      expect(brokenIndexer.output()).toContain('UNEXPECTED');
      expect(brokenIndexer.output()).not.toContain(canary);
    }
    await using next = daemon('ledger');
    await stored.reaches(next, 'ledger', world.sandbox.ledger.ledgerEnd());
    await world.expectUndisturbed();
  });
});

describe('two streams in one database', () => {
  it('are independent: the second continues while the first is parked', async () => {
    await using brokenIndexer = await world.run('broken');
    await using validIndexer = await world.run('sound');
    await world.reachesEnd(brokenIndexer);
    await world.reachesEnd(validIndexer);
    await query(world.database.url, 'alter table broken.updates rename column update_id to renamed');
    world.grow(30);
    expect((await waitUntilParked(brokenIndexer)).code).toMatch(/^STORE_/u);
    await world.reachesEnd(validIndexer);
    expect((await validIndexer.status()).state).toBe('live');
    await query(world.database.url, 'alter table broken.updates rename column renamed to update_id');
    await world.expectUndisturbed('sound');
  });
});

describe('a wall clock that jumps by a day', () => {
  it('does not change the stored rows', async () => {
    world.grow(800);
    const clockJumpScript = `const real = Date.now; let times = 0;
      setInterval(() => { times += 1; }, 100).unref();
      Date.now = () => real() + (times % 3 - 1) * 86400000;`;
    await using jumping = daemon('jumping', clockJumpScript);
    await stored.reaches(jumping, 'jumping', world.sandbox.ledger.ledgerEnd());
    await jumping.kill();
    await world.expectUndisturbed('jumping');
    expect(jumping.output()).not.toContain('backing off');
  });
});

describe('process memory', () => {
  /** Maximum memory that the process has used so far, in MiB. */
  const peakMib = async (pid: number | undefined): Promise<number> =>
    Number(/VmHWM:\s+(\d+) kB/u.exec(await readFile(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) / 1024;

  it('stays below 300 MiB while the ledger sends 400 MB', { timeout: 120_000, ...needs(linuxSkipReason) }, async () => {
    world.grow(2_000);
    // 400 MB of frames, which consist mostly of blanks.
    world.sandbox.faults.oversizedFrames = { path: '/v2/updates', bytes: 200_000 };
    const env = { INDEXER_START: 'genesis', INDEXER_BUFFER_BYTES: '4MiB', INDEXER_BATCH_BYTES: '1MiB' };
    const NODE_OPTIONS = '--max-old-space-size=64';
    const [ledgerUrl, databaseUrl] = [world.sandbox.url, world.database.url];
    await using smallDaemon = startDaemon({ ledgerUrl, databaseUrl, schema: 'small', env: { ...env, NODE_OPTIONS } });
    await stored.reaches(smallDaemon, 'small', world.sandbox.ledger.ledgerEnd(), 100_000);
    expect(await peakMib(smallDaemon.pid)).toBeLessThan(300);
  });
});
