/** Retry limit of a run with an end: it ends when nothing was stored for that long. */
import { describe, expect, it } from 'vitest';
import { RetryLimits } from '../../../src/pipeline/retry/retry-limit.ts';
import { failure } from '../memory-ledger.ts';
import { memoryWorld } from '../memory-parts.ts';

const error = failure('LEDGER_UNREACHABLE');

function createRetryLimits(stopAt: number | undefined) {
  const clock = { now: 1_000 };
  const { parts } = memoryWorld({ stopAt, limits: { progressTimeoutMs: 600_000 } });
  return { clock, patience: new RetryLimits(parts, () => clock.now) };
}

describe('the progress timeout of a run with an end', () => {
  it('expires when attempts have failed for the limit, with the last failure', () => {
    const { clock, patience: of } = createRetryLimits(30);
    for (; clock.now < 570_000; clock.now += 30_000) expect(of.exhausted(error, 30_000)).toBeUndefined();
    clock.now += 10_000;
    expect(of.exhausted(error, 30_000)).toMatchObject({
      code: 'LEDGER_UNREACHABLE',
      exitCode: error.exitCode,
      message: `${error.message}; timed out, nothing was stored for 600 s (INDEXER_PROGRESS_TIMEOUT)`,
    });
  });

  it('restarts when rows are stored, or when a session succeeds in between', () => {
    const { clock, patience: of } = createRetryLimits(30);
    of.exhausted(error, 0);
    clock.now += 599_000;
    of.renew();
    expect(of.exhausted(error, 30_000)).toBeUndefined();
    clock.now += 599_000;
    expect(of.exhausted(error, 30_000)).toBeUndefined();
  });

  it('of a run without an end never expires', () => {
    const { clock, patience: of } = createRetryLimits(undefined);
    for (; clock.now < 9_000_000; clock.now += 30_000) expect(of.exhausted(error, 30_000)).toBeUndefined();
    expect(of.isOver(0)).toBe(false);
  });
});
