/** What was asked for beside the stream is looked at for as long as the run lasts, whoever does it and whatever the stream does. */
import { EMPTY, catchError, defer, exhaustMap, ignoreElements, tap, timer, type Observable } from 'rxjs';
import type { PipelineParts } from '../ports/parts.ts';

/** Tells the observer at once and then again and again, while subscribed. Emits nothing, never fails: where Postgres does not answer the stream says so. */
export function works$({ sink, observers, pace }: PipelineParts): Observable<never> {
  return timer(0, pace.commandsMs).pipe(
    exhaustMap(() => defer(() => sink.works()).pipe(catchError(() => EMPTY))),
    tap((works) => observers.works.seen(works)),
    ignoreElements(),
  );
}
