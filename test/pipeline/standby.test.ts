/** Tests the wait for the writer lock: the polls during the wait, and when the wait ends. */
import { describe, expect, it } from 'vitest';
import { defaultPace } from '../../src/config/pace.ts';
import { acquireLock } from '../../src/pipeline/background/standby.ts';
import { PhaseState } from '../../src/pipeline/ports/parts.ts';
import { RetryLimits } from '../../src/pipeline/retry/retry-limit.ts';
import type { WriterLock } from '../../src/pipeline/ports/sink.ts';
import { waitFor } from '../support/wait-for.ts';
import { failure } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';

function waitForLock(world: World): Promise<WriterLock | undefined> {
  return acquireLock(world.parts, new PhaseState(world.reports.observers.stream), new RetryLimits(world.parts));
}

describe('standby', () => {
  it('acquires a free lock at once, and reports it', async () => {
    const world = memoryWorld();
    await expect(waitForLock(world)).resolves.toBeDefined();
    expect(world.reports.phases).toEqual([]);
    await waitFor('the holder', () => (world.reports.of('polls.lockHeld').length > 0 ? true : undefined));
    expect(world.reports.of('polls.lockHeld')).toEqual([[expect.objectContaining({ pid: 1 }), true]]);
    expect(world.ledger.count('ledgerEnd')).toBe(0);
  });

  it('ends a bounded run with WRITER_ACTIVE if another process keeps the lock for too long', async () => {
    const world = memoryWorld({ stopAt: 30, limits: { progressTimeoutMs: 20 }, pace: { ...defaultPace, lockMs: 5 } });
    world.sink.occupied = true;
    await expect(waitForLock(world)).rejects.toMatchObject({
      code: 'WRITER_ACTIVE',
      exitCode: 75,
      message: expect.stringMatching(
        /^another process holds the writer lock: .*writer.*; timed out, nothing was stored/,
      ) as unknown,
    });
  });

  it('waits for the lock, and reports the lock holder and the ledger end meanwhile', async () => {
    const world = memoryWorld();
    world.sink.occupied = true;
    world.ledger.end = 30;
    world.ledger.pruned = 4;
    const lock = waitForLock(world);
    await waitFor('a poll of the ledger', () => (world.reports.of('polls.pruned').length > 0 ? true : undefined));
    expect(world.reports.phases).toEqual(['standby']);
    expect(world.reports.of('polls.lockHeld')).toEqual([[expect.objectContaining({ role: 'writer' }), false]]);
    expect(world.reports.of('polls.ledgerEnd')).toEqual([[30]]);
    expect(world.reports.of('polls.pruned')).toEqual([[4]]);
    world.sink.occupied = false;
    await expect(lock).resolves.toBeDefined();
    // No stream and no session was opened.
    expect(world.ledger.streams).toEqual([]);
    expect(world.sink.count('openSession')).toBe(0);
  });

  it('reports a rejected access token before it acquires the lock', async () => {
    const world = memoryWorld();
    world.sink.occupied = true;
    world.ledger.before = () => {
      throw failure('LEDGER_UNAUTHENTICATED');
    };
    const lock = waitForLock(world);
    await waitFor('the failure', () => (world.reports.failures.length > 0 ? true : undefined));
    expect(world.reports.failures).toEqual([['LEDGER_UNAUTHENTICATED', true]]);
    expect(world.tokens.invalidated).toBe(1);
    world.stop.abort();
    await expect(lock).resolves.toBeUndefined();
  });

  it('waits even if the lock holder cannot be read', async () => {
    const world = memoryWorld();
    world.sink.occupied = true;
    world.sink.before = (sinkCall) => {
      if (sinkCall === 'lockHolder') throw failure('STORE_UNREACHABLE');
    };
    const lock = waitForLock(world);
    await waitFor('a second try', () => (world.sink.count('tryLock') > 1 ? true : undefined));
    world.stop.abort();
    await expect(lock).resolves.toBeUndefined();
    expect(world.reports.failures).toEqual([]);
    expect(world.reports.of('polls.lockHeld')).toEqual([]);
  });

  it.each(['prepare', 'tryLock'] as const)('fails with the error of %s', async (sinkCall) => {
    const world = memoryWorld();
    world.sink.before = (finishedCall) => {
      if (finishedCall === sinkCall) throw failure('STORE_UNREACHABLE');
    };
    await expect(waitForLock(world)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
    expect(world.sink.held).toBe(false);
  });
});
