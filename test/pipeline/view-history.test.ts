/** The background job for interface views has separate offsets. Stream listeners do not receive them. */
import { expect, it } from 'vitest';
import type { ViewStaging } from '../../src/pipeline/ports/sink.ts';
import { ViewHistory } from '../../src/pipeline/view-history.ts';
import { MemorySink } from './memory-sink.ts';
import { memoryWorld } from './memory-parts.ts';

it('the background job for interface views reports no commits to stream listeners', async () => {
  const sink = new MemorySink();
  const staging = {
    prepare: () => Promise.resolve(),
    openSession: () => Promise.resolve(sink.takeOver()),
    close: () => Promise.resolve(),
  } as unknown as ViewStaging;
  const world = memoryWorld({ viewStaging: () => Promise.resolve(staging) });
  world.ledger.grow(1, 2, 3, 4, 5);
  const stop = new AbortController().signal;
  const history = await ViewHistory.open(world.parts, ['#p:M:I'], { begin: 0, pruned: 0 }, stop);
  expect(await history.reach(5)).toBe(true);
  expect(sink.updates.length).toBeGreaterThan(0);
  expect(world.reached).toEqual([]);
  expect(world.reports.of('stream.batchCommitted')).toEqual([]);
});
