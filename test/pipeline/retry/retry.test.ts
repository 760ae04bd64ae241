/** Tests how the pipeline reacts to each error. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CodeWithRemedy } from '../../../src/errors/catalogue.ts';
import type { RetryClass } from '../../../src/errors/failure-kind.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { FailureCount, decide, type FailureStreak } from '../../../src/pipeline/retry/retry.ts';
import { expectProperty } from '../../support/chance/property.ts';

/** The n-th consecutive failure, each of a different kind. */
const streakOf = (failures: number): FailureStreak => ({ failures, repeated: 1, lastingMs: 0 });
const error = (retry: RetryClass, code: CodeWithRemedy = 'STORE_CONFLICT', facts = {}): IndexerError =>
  new IndexerError('x', { code, retry, facts });

describe('decide()', () => {
  it('ends the run on fatal errors only', () => {
    expect(decide(error('fatal'), streakOf(1), 1_000, 0.5)).toEqual({ kind: 'give-up' });
    for (const retry of ['retry', 'refresh-token', 'fenced', 'park'] as const) {
      expect(decide(error(retry), streakOf(1_000), 1_000, 0.5).kind).toBe('again');
    }
  });

  it('retries a parked stream after a minute, even if the maximum delay is shorter', () => {
    expect(decide(error('park'), streakOf(1), 10, 0)).toEqual({ kind: 'again', delayMs: 60_000, phase: 'parked' });
  });

  it('retries twice with a new token before it parks', () => {
    const phases = [1, 2, 3].map((failures) => decide(error('refresh-token'), streakOf(failures), 1_000, 0.5));
    expect(phases).toMatchObject([{ phase: 'backing_off' }, { phase: 'backing_off' }, { phase: 'parked' }]);
  });

  it('reconnects at once after changed rights or an expired token, then backs off', () => {
    for (const code of ['LEDGER_STALE_AUTHORIZATION', 'LEDGER_TOKEN_EXPIRED'] as const) {
      expect(decide(error('retry', code), streakOf(1), 1_000, 0.5)).toMatchObject({ delayMs: 0, phase: 'backing_off' });
      expect(decide(error('retry', code), streakOf(2), 1_000, 0.5)).toMatchObject({ delayMs: 200 });
    }
  });

  it('parks after repeated failures of a kind that may be permanent', () => {
    const phaseAfter = (code: CodeWithRemedy, repeatCount: number): unknown =>
      decide(error('retry', code), { failures: repeatCount, repeated: repeatCount, lastingMs: 0 }, 1_000, 0.5);
    expect(phaseAfter('LEDGER_UNDECODABLE', 1)).toMatchObject({ phase: 'backing_off' });
    expect(phaseAfter('LEDGER_UNDECODABLE', 2)).toMatchObject({ phase: 'parked' });
    expect(phaseAfter('LEDGER_OUT_OF_ORDER', 2)).toMatchObject({ phase: 'backing_off' });
    expect(phaseAfter('LEDGER_OUT_OF_ORDER', 3)).toMatchObject({ phase: 'parked' });
    expect(phaseAfter('LEDGER_NOT_A_LEDGER', 3)).toMatchObject({ phase: 'backing_off' });
    expect(phaseAfter('LEDGER_NOT_A_LEDGER', 4)).toMatchObject({ phase: 'parked' });
    expect(phaseAfter('LEDGER_UNREACHABLE', 1_000)).toMatchObject({ phase: 'backing_off' });
  });

  it('retries an unreachable server within 2 s, and others up to the maximum delay', () => {
    const unreachableError = error('retry', 'LEDGER_UNREACHABLE');
    expect(decide(unreachableError, streakOf(1_000), 30_000, 0.999)).toMatchObject({
      delayMs: 1_998,
      phase: 'backing_off',
    });
    expect(decide(unreachableError, streakOf(1_000), 30_000, 0)).toMatchObject({ delayMs: 0 });
    expect(decide(unreachableError, streakOf(1_000), 200, 0.5)).toMatchObject({ delayMs: 100 });
    const proxyError = error('retry', 'LEDGER_UNAVAILABLE', { httpStatus: 502 });
    expect(decide(proxyError, streakOf(1_000), 30_000, 0.5)).toMatchObject({ delayMs: 1_000 });
    const overloaded = error('retry', 'LEDGER_UNAVAILABLE', { httpStatus: 503 });
    expect(decide(overloaded, streakOf(1_000), 30_000, 0.5)).toMatchObject({ delayMs: 15_000 });
  });

  it('waits for Retry-After, at most five minutes, plus jitter', () => {
    const withRetryAfter = (retryAfterSeconds: number) => error('retry', 'LEDGER_UNAVAILABLE', { retryAfterSeconds });
    expect(decide(withRetryAfter(40), streakOf(1), 200, 0)).toMatchObject({ delayMs: 40_000, phase: 'backing_off' });
    expect(decide(withRetryAfter(40), streakOf(1), 200, 0.5)).toMatchObject({ delayMs: 42_000 });
    expect(decide(withRetryAfter(1), streakOf(20), 30_000, 0.5)).toMatchObject({ delayMs: 15_000 });
    expect(decide(withRetryAfter(86_400), streakOf(1), 200, 0)).toMatchObject({ delayMs: 300_000 });
  });

  it('retries at once after an update was quarantined', () => {
    expect(decide(error('retry', 'UPDATE_QUARANTINED'), streakOf(1), 1_000, 0.5)).toMatchObject({ delayMs: 0 });
  });

  it('retries a lost worker at once, then backs off', () => {
    expect(decide(error('retry', 'STORE_WORKER_LOST'), streakOf(1), 1_000, 1)).toMatchObject({ delayMs: 0 });
    expect(decide(error('retry', 'STORE_WORKER_LOST'), streakOf(2), 1_000, 1)).toMatchObject({ delayMs: 400 });
  });

  it('waits half a minute if the disk is full', () => {
    expect(decide(error('retry', 'STORE_FULL'), streakOf(1), 10, 0)).toMatchObject({
      delayMs: 30_000,
      phase: 'backing_off',
    });
  });

  it('backs off with full jitter below a limit that doubles up to the maximum', () => {
    expectProperty(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 600_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, limit, random) => {
          const decision = decide(error('retry'), streakOf(failures), limit, random);
          const delay = decision.kind === 'again' ? decision.delayMs : Number.NaN;
          expect(delay).toBe(Math.round(random * Math.min(limit, 100 * 2 ** Math.min(failures, 20))));
        },
      ),
    );
  });
});

describe('FailureCount', () => {
  it('counts consecutive failures with the same code, and measures their duration', () => {
    let now = 0;
    const count = new FailureCount(() => now);
    expect(count.add(error('retry', 'LEDGER_INTERNAL'))).toEqual({ failures: 1, repeated: 1, lastingMs: 0 });
    now = 5;
    expect(count.add(error('retry', 'LEDGER_INTERNAL'))).toEqual({ failures: 2, repeated: 2, lastingMs: 5 });
    expect(count.add(error('retry', 'STORE_FULL'))).toEqual({ failures: 3, repeated: 1, lastingMs: 0 });
    expect(count.add(error('refresh-token', 'LEDGER_TOKEN_EXPIRED'))).toMatchObject({ failures: 1 });
    count.clear();
    now = 9;
    expect(count.add(error('retry', 'STORE_FULL'))).toEqual({ failures: 1, repeated: 1, lastingMs: 0 });
  });

  it('restarts at the first response of a ledger that was unreachable', () => {
    const count = new FailureCount(() => 0);
    for (let attempt = 1; attempt <= 500; attempt += 1) {
      expect(count.add(error('retry', 'LEDGER_UNREACHABLE'))).toMatchObject({ failures: attempt });
    }
    expect(count.add(error('retry', 'LEDGER_UNAVAILABLE'))).toMatchObject({ failures: 1 });
  });
});
