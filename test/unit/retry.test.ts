/** From an error to what the pipeline does about it. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexerError, type RetryClass } from '../../src/errors.ts';
import { decide, pause } from '../../src/pipeline/retry.ts';

const error = (retry: RetryClass, code = 'X'): IndexerError => new IndexerError('x', { code, retry });

describe('decide', () => {
  it('gives up on fatal errors only', () => {
    expect(decide(error('fatal'), 1, 1_000, 0.5)).toEqual({ kind: 'give-up' });
    for (const retry of ['retry', 'refresh-token', 'fenced', 'park'] as const) {
      expect(decide(error(retry), 1_000, 1_000, 0.5).kind).toBe('again');
    }
  });

  it('tests a parked stream again after a minute, whatever the limit', () => {
    expect(decide(error('park'), 1, 10, 0)).toEqual({ kind: 'again', delayMs: 60_000, phase: 'parked' });
  });

  it('reads the token again twice before it parks', () => {
    const phases = [1, 2, 3].map((failures) => decide(error('refresh-token'), failures, 1_000, 0.5));
    expect(phases).toMatchObject([{ phase: 'backing_off' }, { phase: 'backing_off' }, { phase: 'parked' }]);
  });

  it('connects again at once when rights changed or a token ran out, and backs off when that did not help', () => {
    for (const code of ['LEDGER_STALE_AUTHORIZATION', 'LEDGER_TOKEN_EXPIRED']) {
      expect(decide(error('retry', code), 1, 1_000, 0.5)).toMatchObject({ delayMs: 0, phase: 'backing_off' });
      expect(decide(error('retry', code), 2, 1_000, 0.5)).toMatchObject({ delayMs: 200 });
    }
  });

  it('waits half a minute for a full disk', () => {
    expect(decide(error('retry', 'STORE_FULL'), 1, 10, 0)).toMatchObject({ delayMs: 30_000, phase: 'backing_off' });
  });

  it('backs off with full jitter under a ceiling that doubles up to the limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 600_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, limit, random) => {
          const decision = decide(error('retry'), failures, limit, random);
          const delay = decision.kind === 'again' ? decision.delayMs : Number.NaN;
          expect(delay).toBe(Math.round(random * Math.min(limit, 100 * 2 ** Math.min(failures, 20))));
        },
      ),
    );
  });
});

describe('pause', () => {
  it('ends at once, without error, when the signal is or gets aborted', async () => {
    await pause(1_000_000, AbortSignal.abort());
    const stop = new AbortController();
    const paused = pause(1_000_000, stop.signal);
    stop.abort();
    await expect(paused).resolves.toBeUndefined();
  });
});
