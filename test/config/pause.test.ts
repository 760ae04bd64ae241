/** A wait that ends early without an error. */
import { describe, expect, it } from 'vitest';
import { pause } from '../../src/config/pause.ts';

describe('pause', () => {
  it('ends at once, without error, when the signal is or gets aborted', async () => {
    await pause(1_000_000, AbortSignal.abort());
    const stop = new AbortController();
    const paused = pause(1_000_000, stop.signal);
    stop.abort();
    await expect(paused).resolves.toBeUndefined();
  });
});
