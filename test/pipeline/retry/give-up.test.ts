/** How long a run with an end tries again: until nothing was stored for its limit. */
import { describe, expect, it } from 'vitest';
import { Patience } from '../../../src/pipeline/retry/give-up.ts';
import { failure } from '../memory-ledger.ts';
import { memoryWorld } from '../memory-parts.ts';

const error = failure('LEDGER_UNREACHABLE');

function patience(stopAt: number | undefined) {
  const clock = { now: 1_000 };
  const { parts } = memoryWorld({ stopAt, limits: { progressTimeoutMs: 600_000 } });
  return { clock, patience: new Patience(parts, () => clock.now) };
}

describe('the patience of a run with an end', () => {
  it('runs out once attempts have failed for the limit, with the failure itself', () => {
    const { clock, patience: of } = patience(30);
    for (; clock.now < 570_000; clock.now += 30_000) expect(of.exhausted(error, 30_000)).toBeUndefined();
    clock.now += 10_000;
    expect(of.exhausted(error, 30_000)).toMatchObject({
      code: 'LEDGER_UNREACHABLE',
      exitCode: error.exitCode,
      message: `${error.message}; timed out, nothing was stored for 600 s (INDEXER_PROGRESS_TIMEOUT)`,
    });
  });

  it('is renewed by what is stored, and by a session that worked in between', () => {
    const { clock, patience: of } = patience(30);
    of.exhausted(error, 0);
    clock.now += 599_000;
    of.renew();
    expect(of.exhausted(error, 30_000)).toBeUndefined();
    clock.now += 599_000;
    expect(of.exhausted(error, 30_000)).toBeUndefined();
  });

  it('of a run without an end never runs out', () => {
    const { clock, patience: of } = patience(undefined);
    for (; clock.now < 9_000_000; clock.now += 30_000) expect(of.exhausted(error, 30_000)).toBeUndefined();
    expect(of.isOver(0)).toBe(false);
  });
});
