/** A run with an end offset limits the duration of retries. It ends when nothing was stored for that long. */
import { describe, expect, it } from 'vitest';
import { RetryLimits } from '../../../src/pipeline/retry/retry-limit.ts';
import { failure } from '../memory-ledger.ts';
import { memoryWorld } from '../memory-parts.ts';

const error = failure('LEDGER_UNREACHABLE');

function createRetryLimits(stopAt: number | undefined) {
  const clock = { now: 1_000 };
  const { parts: pipeline } = memoryWorld({ stopAt, limits: { progressTimeoutMs: 600_000 } });
  return { clock, patience: new RetryLimits(pipeline, () => clock.now) };
}

describe('progress timeout', () => {
  it('expires with the last failure if nothing was stored for 600 s', () => {
    const { clock, patience: retryLimits } = createRetryLimits(30);
    for (; clock.now < 570_000; clock.now += 30_000) expect(retryLimits.exhausted(error, 30_000)).toBeUndefined();
    clock.now += 10_000;
    expect(retryLimits.exhausted(error, 30_000)).toMatchObject({
      code: 'LEDGER_UNREACHABLE',
      exitCode: error.exitCode,
      message: `${error.message}; timed out, nothing was stored for 600 s (INDEXER_PROGRESS_TIMEOUT)`,
    });
  });

  it('restarts when rows are stored or a session succeeds', () => {
    const { clock, patience: retryLimits } = createRetryLimits(30);
    retryLimits.exhausted(error, 0);
    clock.now += 599_000;
    retryLimits.renew();
    expect(retryLimits.exhausted(error, 30_000)).toBeUndefined();
    clock.now += 599_000;
    expect(retryLimits.exhausted(error, 30_000)).toBeUndefined();
  });

  it('never expires in a run without an end offset', () => {
    const { clock, patience: retryLimits } = createRetryLimits(undefined);
    for (; clock.now < 9_000_000; clock.now += 30_000) expect(retryLimits.exhausted(error, 30_000)).toBeUndefined();
    expect(retryLimits.isOver(0)).toBe(false);
  });
});
