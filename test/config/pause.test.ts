/** Tests a pause that can end early without an error. */
import { describe, expect, it } from 'vitest';
import { pause } from '../../src/config/pause.ts';

describe('pause()', () => {
  it('resolves immediately if its signal is aborted before or during the pause', async () => {
    await pause(1_000_000, AbortSignal.abort());
    const stop = new AbortController();
    const whenPaused = pause(1_000_000, stop.signal);
    stop.abort();
    await expect(whenPaused).resolves.toBeUndefined();
  });
});
