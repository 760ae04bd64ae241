/**
 * Prunes old history in the background. It runs only during a session, so only the holder of the writer lock prunes.
 * The stream never waits for pruning and never fails because of it. The next pass continues an interrupted prune.
 */
import { EMPTY, Observable } from 'rxjs';
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts } from '../ports/parts.ts';

/** Prunes immediately and then at intervals, while subscribed. Emits nothing, never fails and never completes. */
export function pruning$({ retention, observers, stop }: PipelineParts): Observable<never> {
  if (retention === undefined) return EMPTY;
  return new Observable(() => {
    const endController = new AbortController();
    const endSignal = AbortSignal.any([stop, endController.signal]);
    void (async () => {
      while (!endSignal.aborted) {
        try {
          observers.retention.pruned(
            await retention.prune(endSignal, (facts) => {
              observers.retention.pruned(facts);
            }),
          );
        } catch (thrown) {
          if (!endSignal.aborted) observers.retention.failed(toIndexerError(thrown), retention.everyMs);
        }
        await pause(retention.everyMs, endSignal);
      }
    })();
    return () => {
      endController.abort();
    };
  });
}
