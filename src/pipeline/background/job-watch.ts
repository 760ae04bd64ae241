/** Reads the background jobs while the run lasts, whichever process runs them and whatever the stream does. */
import { EMPTY, catchError, defer, exhaustMap, ignoreElements, tap, timer, type Observable } from 'rxjs';
import type { PipelineParts } from '../ports/parts.ts';

/**
 * Reports to the observer at once and then at intervals, while subscribed. Emits nothing, never fails: the stream
 * reports a database that does not respond.
 */
export function requestedJobs$({ sink, observers, pace }: PipelineParts): Observable<never> {
  return timer(0, pace.commandsMs).pipe(
    exhaustMap(() => defer(() => sink.jobs()).pipe(catchError(() => EMPTY))),
    tap((jobs) => observers.jobs.seen(jobs)),
    ignoreElements(),
  );
}
