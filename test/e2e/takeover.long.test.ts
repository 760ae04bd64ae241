/**
 * A standby takes over from a writer that is killed, stopped, frozen or disconnected, also in the middle of a batch.
 * The test uses real processes and prints the measurements.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { leaseMs, startPair, type Pair } from '../ha/pair.ts';
import { waitFor } from '../support/wait-for.ts';

/** Limit for processes that have ended. If their end were not detected, the takeover would wait for the lease. */
const deathTakeoverMs = leaseMs;
/**
 * Limit for processes that do not respond. Without a lease it would be minutes, until the operating system times out
 * the connection.
 */
const silenceTakeoverMs = leaseMs + 10_000;
const figures: string[] = [];

afterAll(() => {
  process.stdout.write(`takeover, lease ${leaseMs} ms:\n${figures.join('\n')}\n`);
});

async function measureTakeover(
  pair: Pair,
  name: string,
  limitMs: number,
  fault: () => Promise<void> | void,
): Promise<void> {
  const epochBefore = await pair.epoch();
  await fault();
  const { epochMs, commitMs } = await pair.takeover(epochBefore);
  figures.push(`  ${name.padEnd(36)} epoch after ${epochMs} ms, first commit after ${commitMs} ms`);
  expect(epochMs).toBeLessThan(limitMs);
}

async function expectSameDigest(pair: Pair): Promise<void> {
  const { found: actualDigest, expected } = await pair.digests();
  expect(actualDigest).toBe(expected);
}

const lockSession = `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and a.datname = current_database()
    and a.application_name = 'ledger-indexer lock'`;

describe('standby', { timeout: 120_000 }, () => {
  it('takes over at once from a killed process', async () => {
    await using pair = await startPair();
    await measureTakeover(pair, 'SIGKILL', deathTakeoverMs, () => pair.leader.signal('SIGKILL'));
    await expectSameDigest(pair);
  });

  it('takes over at once from a process stopped by SIGTERM', async () => {
    await using pair = await startPair();
    await measureTakeover(pair, 'SIGTERM', deathTakeoverMs, () => pair.leader.signal('SIGTERM'));
    expect(await pair.leader.exited).toEqual({ code: 0, signal: null });
    await expectSameDigest(pair);
  });

  it('takes over, or the writer resumes, at once when the session with the lock ends', async () => {
    await using pair = await startPair();
    await measureTakeover(pair, 'session of the lock terminated', deathTakeoverMs, async () => {
      await pair.stored.client.query(lockSession);
    });
    await expectSameDigest(pair);
  });

  it('takes over after the lease from a frozen process, which then becomes a standby', async () => {
    await using pair = await startPair();
    await measureTakeover(pair, 'SIGSTOP', silenceTakeoverMs, () => {
      pair.leader.signal('SIGSTOP');
      // These frames wait in the sockets of the frozen process.
      pair.grow(30);
    });
    const epoch = await pair.epoch();
    pair.leader.signal('SIGCONT');
    await pair.leader.logged('standby');
    pair.grow(10);
    await expectSameDigest(pair);
    expect(await pair.epoch()).toBe(epoch);
  });

  it('takes over after the lease when the connection of the writer is half open', async () => {
    await using pair = await startPair();
    await measureTakeover(pair, 'network frozen', silenceTakeoverMs, () => pair.road.freeze());
    await expectSameDigest(pair);
  });

  it.each([0.3, 0.9])('takes over after the lease when the connection freezes at %f of a batch', async (share) => {
    await using pair = await startPair();
    await measureTakeover(pair, `network frozen ${share} through a batch`, silenceTakeoverMs, async () => {
      const whenFrozen = pair.road.freezeAt('move-checkpoint', share);
      pair.grow(30);
      await whenFrozen;
    });
    await expectSameDigest(pair);
  });

  it('takes over from a process whose event loop is blocked for longer than the lease', async () => {
    const block = `process.on('SIGUSR2',()=>{const end=performance.now()+${2 * leaseMs};while(performance.now()<end);})`;
    await using pair = await startPair({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(block)}` });
    await measureTakeover(pair, 'event loop blocked', silenceTakeoverMs, () => pair.leader.signal('SIGUSR2'));
    await pair.leader.logged('standby');
    await expectSameDigest(pair);
  });

  it('returns 200 for /livez and 503 for /readyz, and reports its state', async () => {
    await using pair = await startPair();
    const http = await pair.standby.http();
    const readyResponse = await fetch(`${http}/readyz`);
    expect(readyResponse.status).toBe(503);
    expect(await readyResponse.json()).toMatchObject({ state: 'standby', live: true });
    expect((await fetch(`${http}/livez`)).status).toBe(200);
    const metrics = await (await fetch(`${http}/metrics`)).text();
    expect(metrics).toContain('indexer_leader 0');
    expect(metrics).toContain('indexer_phase{phase="standby"} 1');
    await waitFor('the standby polls the ledger', async () =>
      (await (await fetch(`${http}/metrics`)).text()).includes(
        `indexer_ledger_end_offset ${pair.sandbox.ledger.ledgerEnd()}`,
      )
        ? true
        : undefined,
    );
  });
});
