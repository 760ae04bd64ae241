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
    const over = new AbortController();
    const ended = AbortSignal.any([stop, over.signal]);
    void (async () => {
      while (!ended.aborted) {
        try {
          observers.retention.pruned(
            await retention.prune(ended, (facts) => {
              observers.retention.pruned(facts);
            }),
          );
        } catch (thrown) {
          if (!ended.aborted) observers.retention.failed(toIndexerError(thrown), retention.everyMs);
        }
        await pause(retention.everyMs, ended);
      }
    })();
    return () => {
      over.abort();
    };
  });
}
