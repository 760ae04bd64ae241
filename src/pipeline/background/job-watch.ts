/**
 * Reads the background jobs while the run lasts. It does not matter which process runs the jobs, or what state the
 * stream is in.
 */
import { EMPTY, catchError, defer, exhaustMap, ignoreElements, tap, timer, type Observable } from 'rxjs';
import type { PipelineParts } from '../ports/parts.ts';

/**
 * Polls at intervals while subscribed, and reports the jobs to the observer. Emits nothing and never fails: if the
 * database does not respond, the stream reports this.
 */
export function requestedJobs$({ sink, observers, pace }: PipelineParts): Observable<never> {
  return timer(0, pace.commandsMs).pipe(
    exhaustMap(() => defer(() => sink.jobs()).pipe(catchError(() => EMPTY))),
    tap((jobs) => observers.jobs.seen(jobs)),
    ignoreElements(),
  );
}
