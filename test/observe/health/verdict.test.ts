import { describe, expect, it } from 'vitest';

import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { verdictOf } from '../../../src/observe/health/health.ts';
import type { HealthFacts } from '../../../src/observe/health/health.ts';
import { HealthTracker } from '../../../src/observe/health/health-tracker.ts';
import { catchUpText } from '../../../src/observe/log/progress-line.ts';

const minute = 60_000;
const liveFacts: HealthFacts = {
  phase: 'live',
  phaseSinceMs: 0,
  checkpoint: 100,
  ledgerEnd: 100,
  learnedAtMs: 1000 * minute,
  frameAtMs: undefined,
  unlearnedReason: undefined,
  ledgerTimeoutMs: 10_000,
  waitingSinceMs: undefined,
  committedAtMs: 0,
  caughtUp: true,
  stalledAfterMs: 5 * minute,
  reason: undefined,
};

describe('verdictOf()', () => {
  it('returns live but not ready until the ledger end is reached', () => {
    for (const phase of ['starting', 'seeding', 'standby', 'parked', 'stopping'] as const) {
      expect(verdictOf({ ...liveFacts, phase, caughtUp: false }, 1000 * minute)).toMatchObject({
        state: phase,
        ready: false,
        live: true,
      });
    }
    const catchingUp = { ...liveFacts, phase: 'catching_up', ledgerEnd: 150, waitingSinceMs: 0 } as const;
    expect(verdictOf(catchingUp, 1000)).toMatchObject({ state: 'catching_up', ready: false, live: true });
    expect(verdictOf(catchingUp, 1000).reason).toBe('50 offsets behind the ledger end');
  });

  it('returns ready on a quiet ledger while everything is stored', () => {
    expect(verdictOf(liveFacts, 1000)).toMatchObject({ state: 'live', ready: true });
    expect(verdictOf(liveFacts, 1000 * minute)).toMatchObject({ state: 'idle', ready: true, live: true });
  });

  it('returns ledger_timeout and not ready if the ledger end is unknown for too long', () => {
    const old = { ...liveFacts, learnedAtMs: 0, unlearnedReason: 'LEDGER_UNAUTHENTICATED: refused' };
    expect(verdictOf(old, 10_000)).toMatchObject({ state: 'live', ready: true });
    expect(verdictOf(old, 10_001)).toEqual({
      state: 'ledger_timeout',
      ready: false,
      live: true,
      reason: 'the ledger end, last known as 100, has not been learned for 10 s: LEDGER_UNAUTHENTICATED: refused',
    });
    expect(verdictOf({ ...old, unlearnedReason: undefined }, 34_000).reason).toMatch(/for 34 s: no answer$/);
    expect(verdictOf({ ...old, phase: 'catching_up', ledgerEnd: 150 }, 34_000).state).toBe('ledger_timeout');
    const backingOff = { ...old, phase: 'backing_off', reason: 'LEDGER_UNREACHABLE: refused' } as const;
    expect(verdictOf(backingOff, 9_000)).toMatchObject({ state: 'backing_off', ready: true });
    expect(verdictOf(backingOff, 11_000)).toMatchObject({ state: 'backing_off', ready: false });
  });

  it('returns ledger_timeout only after frames stop arriving', () => {
    const old = { ...liveFacts, learnedAtMs: 0, frameAtMs: 300_000, unlearnedReason: 'LEDGER_UNAVAILABLE: busy' };
    expect(verdictOf(old, 310_000)).toMatchObject({ ready: true });
    expect(verdictOf(old, 310_001)).toMatchObject({
      state: 'ledger_timeout',
      reason: 'the ledger end, last known as 100, has not been learned for 310 s: LEDGER_UNAVAILABLE: busy',
    });
    const backingOff = { ...old, phase: 'backing_off', phaseSinceMs: 305_000 } as const;
    expect(verdictOf(backingOff, 309_000).ready).toBe(true);
    expect(verdictOf({ ...old, frameAtMs: 0, learnedAtMs: 300_000 }, 310_000).ready).toBe(true);
  });

  it('returns stalled if the checkpoint stays below the ledger end, and much later not live', () => {
    const stuckFacts = { ...liveFacts, ledgerEnd: 101, waitingSinceMs: 0 };
    expect(verdictOf(stuckFacts, 4 * minute)).toMatchObject({ state: 'live', ready: true });
    expect(verdictOf(stuckFacts, 5 * minute)).toMatchObject({ state: 'stalled', ready: false, live: true });
    expect(verdictOf(stuckFacts, 15 * minute)).toMatchObject({ state: 'stalled', ready: false, live: false });
    expect(verdictOf({ ...stuckFacts, phaseSinceMs: 14 * minute }, 15 * minute).live).toBe(true);
  });

  it('returns ready during a short interruption, but not a long or repeated one', () => {
    const backingOff = { ...liveFacts, phase: 'backing_off', reason: 'LEDGER_UNREACHABLE: refused' } as const;
    expect(verdictOf(backingOff, minute)).toMatchObject({ state: 'backing_off', ready: true, live: true });
    expect(verdictOf(backingOff, 6 * minute)).toMatchObject({ ready: false, live: true });
    expect(verdictOf({ ...backingOff, caughtUp: false }, minute).ready).toBe(false);
    const repeatedFacts = { ...backingOff, phaseSinceMs: 9 * minute, ledgerEnd: 101, waitingSinceMs: 0 };
    expect(verdictOf(repeatedFacts, 10 * minute).ready).toBe(false);
    expect(verdictOf(backingOff, minute).reason).toContain('LEDGER_UNREACHABLE');
  });
});

describe('HealthTracker', () => {
  function tracker(): { health: HealthTracker; pass: (ms: number) => void } {
    let nowMs = 0;
    const health = new HealthTracker({
      version: '0',
      schema: 'ledger',
      stalledAfterMs: 5 * minute,
      now: () => nowMs,
      wallNow: () => 1_700_000_000_000 + nowMs,
    });
    return { health, pass: (ms) => (nowMs += ms) };
  }
  const batch = (checkpoint: number) => ({
    checkpoint,
    updates: new Map([
      ['transaction', 20],
      ['offset_checkpoint', 1],
    ]),
    events: new Map([['created', new Map([['p:M:T', 40]])]]),
    unknown: [],
    fallbackDecodedTransactions: 0,
    rows: new Map<string, number>(),
    recordTimeMs: 1_700_000_000_000,
    bytes: 1,
    commitSeconds: 0,
    decodeSeconds: 0,
  });
  /** Reports a commit as the pipeline does. */
  const commit = (health: HealthTracker, facts: ReturnType<typeof batch>): void => {
    health.batchCommitted(facts);
    health.checkpointReached(facts.checkpoint);
  };

  it('reports the current error with its remedy, and the duration since the first error', () => {
    const { health, pass: advanceClock } = tracker();
    const first = new IndexerError('closed with 1006', { code: 'LEDGER_STREAM_CLOSED', remedy: 'check proxies' });
    const second = new IndexerError('connection refused', { code: 'LEDGER_UNREACHABLE', remedy: 'start it' });
    health.phaseChanged('backing_off', first);
    advanceClock(5_000);
    health.phaseChanged('backing_off', second);
    advanceClock(5_000);
    expect(health.verdict()).toMatchObject({
      reason: 'for 10 s: LEDGER_UNREACHABLE: connection refused',
      remedy: 'start it',
    });
    health.phaseChanged('live', undefined);
    expect(health.verdict().remedy).toBeUndefined();
    expect(health.status().remedy).toBeNull();
  });

  it('becomes ready after a long outage when everything is stored', () => {
    const { health, pass: advanceClock } = tracker();
    const refusedError = new IndexerError('connection refused', { code: 'LEDGER_UNREACHABLE', remedy: 'start it' });
    const readyStates: boolean[] = [];
    const recordReady = (): number => readyStates.push(health.verdict().ready);
    health.phaseChanged('live', undefined);
    commit(health, batch(10));
    health.ledgerPolled(10);
    health.phaseChanged('backing_off', refusedError);
    advanceClock(1_000);
    recordReady();
    advanceClock(60_000);
    recordReady();
    // The ledger returns with new updates, and drops its first connections.
    health.ledgerPolled(50);
    recordReady();
    health.phaseChanged('catching_up', undefined);
    recordReady();
    health.phaseChanged('backing_off', refusedError);
    advanceClock(1_000);
    health.ledgerPolled(51);
    recordReady();
    health.phaseChanged('catching_up', undefined);
    recordReady();
    commit(health, batch(51));
    health.phaseChanged('live', undefined);
    recordReady();
    health.phaseChanged('backing_off', refusedError);
    recordReady();
    expect(readyStates).toEqual([true, false, false, false, false, false, true, true]);
  });

  it('is not ready in a second interruption after a long first one', () => {
    const { health, pass: advanceClock } = tracker();
    const unreachableError = new IndexerError('not reachable', { code: 'LEDGER_UNREACHABLE', remedy: 'start it' });
    health.phaseChanged('live', undefined);
    commit(health, batch(10));
    health.ledgerPolled(10);
    health.phaseChanged('backing_off', unreachableError);
    advanceClock(6 * minute);
    // Frames prevent ledger_timeout, so only the length of the interruption matters.
    health.source.frameReceived();
    expect(health.verdict().ready).toBe(false);
    health.phaseChanged('catching_up', undefined);
    health.phaseChanged('backing_off', unreachableError);
    expect(health.verdict()).toMatchObject({ state: 'backing_off', ready: false });
  });

  it('becomes ready only when the ledger end is not behind the checkpoint', () => {
    const { health, pass: advanceClock } = tracker();
    const behindError = new IndexerError('ends at 5', { code: 'LEDGER_BEHIND_CHECKPOINT', remedy: 'wait for it' });
    health.phaseChanged('live', undefined);
    commit(health, batch(10));
    health.ledgerPolled(10);
    health.phaseChanged('backing_off', behindError);
    advanceClock(15_000);
    expect(health.verdict().ready).toBe(false);
    health.ledgerPolled(5);
    expect(health.verdict().ready).toBe(false);
    health.phaseChanged('live', undefined);
    health.ledgerPolled(10);
    expect(health.verdict().ready).toBe(true);
  });

  it('removes secrets from error messages', () => {
    const { health } = tracker();
    const text = 'see postgres://me:hunter2@db/ledger';
    health.phaseChanged('parked', new IndexerError(text, { code: 'STORE_FAILED', remedy: text }));
    const scrubbedText = 'see postgres://me:***@db/ledger';
    expect(health.verdict()).toMatchObject({ reason: `STORE_FAILED: ${scrubbedText}`, remedy: scrubbedText });
  });

  it('reports no stall at the first update after a quiet night', () => {
    const { health, pass: advanceClock } = tracker();
    health.phaseChanged('live', undefined);
    commit(health, batch(10));
    health.ledgerPolled(10);
    advanceClock(600 * minute);
    health.ledgerPolled(10);
    expect(health.verdict().state).toBe('idle');
    health.ledgerPolled(11);
    expect(health.verdict()).toMatchObject({ state: 'live', ready: true });
    advanceClock(5 * minute);
    health.ledgerPolled(15);
    expect(health.verdict().state).toBe('stalled');
    commit(health, batch(12));
    expect(health.verdict().state).toBe('live');
  });

  it('reports a lag of at most the time since everything was stored', () => {
    const { health, pass: advanceClock } = tracker();
    health.phaseChanged('live', undefined);
    health.ledgerPolled(10);
    commit(health, batch(10));
    advanceClock(600 * minute);
    health.ledgerPolled(10);
    advanceClock(1000);
    health.ledgerPolled(14);
    expect(health.status()).toMatchObject({ offsetsBehind: 4, lagSeconds: 1 });
    advanceClock(2000);
    // Everything up to the last reported ledger end is stored. Later updates are still unknown.
    commit(health, batch(14));
    advanceClock(3000);
    expect(health.status().lagSeconds).toBe(0);
    health.ledgerPolled(15);
    expect(health.status().lagSeconds).toBe(5);
  });

  it('measures the lag from the newest record time, even after a batch of a slower synchronizer', () => {
    const { health, pass: advanceClock } = tracker();
    health.phaseChanged('live', undefined);
    health.ledgerPolled(20);
    commit(health, batch(10));
    advanceClock(1000);
    commit(health, { ...batch(11), recordTimeMs: 1_700_000_000_000 - 30 * minute });
    expect(health.status().lagSeconds).toBe(1);
  });

  it('reports the result of the idle probe until the checkpoint advances', () => {
    const work = { shares: () => ({ source: 1, decode: 0, database: 0 }) };
    const health = new HealthTracker({ version: '1', schema: 'ledger', stalledAfterMs: minute, work });
    health.phaseChanged('live', undefined);
    health.ledgerPolled(14);
    commit(health, batch(10));
    const sentence = (): string => health.status().delay.message;
    health.idleProbed('undelivered');
    expect(sentence()).toBe('Behind by 4 offsets. The ledger has an update there, but the stream does not deliver it.');
    health.idleProbed('refused');
    expect(sentence()).toBe('Behind by 4 offsets. The ledger does not report whether an update exists there.');
    commit(health, batch(12));
    expect(sentence()).toContain('Behind by 2 offsets: the source is the bottleneck.');
  });

  it('reports lag and failure during ledger_timeout, and clears both at the next response', () => {
    const { health, pass: advanceClock } = tracker();
    health.phaseChanged('live', undefined);
    commit(health, batch(10));
    health.ledgerPolled(10);
    health.failed(new IndexerError('refused', { code: 'LEDGER_UNAUTHENTICATED', retry: 'refresh-token' }));
    health.failed(new IndexerError('slow', { code: 'STORE_STATEMENT_TIMEOUT', retry: 'retry' }));
    expect(health.status()).toMatchObject({ state: 'live', ledgerEndAgeSeconds: 0, lagSeconds: 0 });
    advanceClock(20_000);
    expect(health.status()).toMatchObject({
      state: 'ledger_timeout',
      reason: expect.stringContaining('for 20 s: LEDGER_UNAUTHENTICATED: refused') as string,
      delay: { cause: 'source' },
      ledgerEndAgeSeconds: 20,
      lagSeconds: 20,
    });
    health.ledgerPolled(10);
    expect(health.status()).toMatchObject({ state: 'live', ledgerEndAgeSeconds: 0, lagSeconds: 0 });
    advanceClock(20_000);
    expect(health.verdict().reason).toMatch(/no answer$/);
  });

  it('treats a frame as a response from the ledger', () => {
    const { health, pass: advanceClock } = tracker();
    health.phaseChanged('live', undefined);
    commit(health, batch(10));
    health.ledgerPolled(10);
    advanceClock(300_000);
    health.source.frameReceived();
    commit(health, batch(11));
    advanceClock(9_000);
    expect(health.status()).toMatchObject({ state: 'live', ledgerEndAgeSeconds: 309, lagSeconds: 0 });
    advanceClock(2_000);
    expect(health.verdict()).toMatchObject({ state: 'ledger_timeout', ready: false });
  });

  it('measures a failure from its start, even if the phase is reported again', () => {
    const { health, pass: advanceClock } = tracker();
    health.phaseChanged('live', undefined);
    const error = new IndexerError('refused', { code: 'LEDGER_UNREACHABLE', retry: 'retry' });
    health.failed(error);
    health.phaseChanged('backing_off', error);
    advanceClock(6 * minute);
    health.phaseChanged('backing_off', error);
    expect(health.verdict().ready).toBe(false);
    expect(health.status().lastError).toEqual({
      code: 'LEDGER_UNREACHABLE',
      message: 'refused',
      at: '2023-11-14T22:13:20.000Z',
    });
  });

  it('reports distance, lag, counts and recent rates', () => {
    const { health, pass: advanceClock } = tracker();
    health.ledgerPolled(30);
    commit(health, batch(10));
    advanceClock(1000);
    commit(health, batch(20));
    advanceClock(1000);
    const status = health.status();
    expect(status).toMatchObject({ checkpoint: 20, ledgerEnd: 30, offsetsBehind: 10, lagSeconds: 2 });
    expect(status).toMatchObject({ updatesPerSecond: 20, eventsPerSecond: 40 });
    expect(status.counts).toEqual({ updates: { transaction: 40, offset_checkpoint: 2 }, events: { created: 80 } });
    advanceClock(20_000);
    expect(health.status().updatesPerSecond).toBe(0);
  });
});

describe('catchUpText()', () => {
  it('includes the remaining time after three samples, and only if the distance shrinks', () => {
    const samples = [0, 1, 2].map((second) => ({ atMs: second * 1000, checkpoint: 100 * second, ledgerEnd: 1000 }));
    expect(catchUpText(0, samples.slice(0, 2))).toBe('catching up: 10.0 %, offset 100 of 1000');
    expect(catchUpText(0, samples)).toBe('catching up: 20.0 %, offset 200 of 1000, 100 offsets/s, 8 s left');
    const recedingSamples = samples.map((sample, index) => ({ ...sample, ledgerEnd: 1000 + 100 * index }));
    expect(catchUpText(0, recedingSamples)).not.toContain('left');
  });
});
