/**
 * Reads how long traffic lasts, in the background. It runs only during a session, so only the holder of the writer lock
 * reports it. The stream never waits for these reads and never fails because of them.
 */
import { EMPTY, Observable } from 'rxjs';
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts } from '../ports/parts.ts';

/** Reads immediately and then at intervals, while subscribed. Emits nothing, never fails and never completes. */
export function watchingTraffic$({
  traffic,
  observers,
  stop,
}: Pick<PipelineParts, 'traffic' | 'observers' | 'stop'>): Observable<never> {
  if (traffic === undefined) return EMPTY;
  return new Observable(() => {
    const endController = new AbortController();
    const endSignal = AbortSignal.any([stop, endController.signal]);
    void (async () => {
      while (!endSignal.aborted) {
        try {
          const runways = await traffic.read(endSignal);
          if (!endSignal.aborted) observers.traffic.read(runways);
        } catch (thrown) {
          if (!endSignal.aborted) observers.traffic.failed(toIndexerError(thrown), traffic.everyMs);
        }
        await pause(traffic.everyMs, endSignal);
      }
    })();
    return () => {
      endController.abort();
      observers.traffic.read([]);
    };
  });
}
