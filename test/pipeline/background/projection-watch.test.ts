/** The pauses after the steps of projections: others do not wait for a slow range of a user's projection. */
import { expect, it } from 'vitest';
import { projecting$ } from '../../../src/pipeline/background/projection-watch.ts';
import type { ProjectionStep } from '../../../src/pipeline/ports/observer.ts';
import { stopClock } from '../../support/chance/clock.ts';
import { deferred } from '../../support/deferred.ts';
import { Reports } from '../memory-parts.ts';

it('continues at once after a slow range, also while the stream is busy', async () => {
  const clock = stopClock();
  const followed = { checkpoint: 0 };
  const steps: string[] = [];
  const second = deferred();
  const step = async (): Promise<ProjectionStep> => {
    const isSlow = steps.length === 0;
    steps.push(isSlow ? 'slow' : 'next');
    if (steps.length === 2) second.resolve();
    // In a tenth of the time, this step would be followed by a pause of an hour.
    clock.advance(400_000);
    followed.checkpoint += 1_000_000;
    return { kind: 'repeated', name: 'own$1', isSlow };
  };
  const stop = new AbortController();
  const { observers } = new Reports();
  const projections = () => ({ step, close: () => Promise.resolve() });
  const subscription = projecting$({ projections, observers, stop: stop.signal }, followed).subscribe();
  await second.promise;
  subscription.unsubscribe();
  expect(steps).toEqual(['slow', 'next']);
});
