/** The runway of traffic is read at intervals, and its values disappear with the session. */
import { expect, it } from 'vitest';
import { watchingTraffic$ } from '../../../src/pipeline/background/traffic-watch.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import type { TrafficRunway } from '../../../src/pipeline/ports/observer.ts';
import { deferred } from '../../support/deferred.ts';
import { Reports } from '../memory-parts.ts';

const runway: TrafficRunway = {
  synchronizer: 's',
  trafficSeconds: 5,
  amuletSeconds: undefined,
  lastBoughtAt: undefined,
};
const refused = new IndexerError('a test', { code: 'QUERY_REFUSED', remedy: 'none' });

it('reports each read and each failure, continues after a failure, and clears the values at the end', async () => {
  const { observers, of } = (() => {
    const reports = new Reports();
    return { observers: reports.observers, of: reports.of.bind(reports) };
  })();
  const third = deferred();
  let count = 0;
  const read = (): Promise<readonly TrafficRunway[]> => {
    count += 1;
    if (count === 3) third.resolve();
    return count === 2 ? Promise.reject(refused) : Promise.resolve([runway]);
  };
  const stop = new AbortController();
  const subscription = watchingTraffic$({ traffic: { everyMs: 1, read }, observers, stop: stop.signal }).subscribe();
  await third.promise;
  await new Promise(setImmediate);
  subscription.unsubscribe();
  expect(of('traffic.read').slice(0, 1)).toEqual([[[runway]]]);
  expect(of('traffic.read').at(-1)).toEqual([[]]);
  expect(of('traffic.failed')).toEqual([[refused, 1]]);
});

it('reports nothing from a read that ends after the session', async () => {
  const reports = new Reports();
  const begun = deferred();
  const answer = deferred();
  const read = async (): Promise<readonly TrafficRunway[]> => {
    begun.resolve();
    await answer.promise;
    return [runway];
  };
  const parts = { traffic: { everyMs: 1, read }, observers: reports.observers, stop: new AbortController().signal };
  const subscription = watchingTraffic$(parts).subscribe();
  await begun.promise;
  subscription.unsubscribe();
  answer.resolve();
  await new Promise(setImmediate);
  expect(reports.of('traffic.read')).toEqual([[[]]]);
});
