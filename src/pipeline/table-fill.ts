/** Tables of active contracts, filled in the background; batches get at least every second turn. */
import { EMPTY, defer, ignoreElements, repeat, retry, tap, timer, type Observable } from 'rxjs';
import { toIndexerError } from '../errors.ts';
import { fillStep, type FillStep } from '../store/materialized/fill.ts';
import type { PipelineParts } from './parts.ts';

const lookEveryMs = 1_000;
const longestDelayMs = 60_000;

/** While subscribed. Emits nothing, never fails; ends at once where no such table is wanted. */
export function fillTables$({ database, materialize, observer, stop }: PipelineParts): Observable<never> {
  if (materialize.length === 0) return EMPTY;
  let failures = 0;
  let pauseMs = 0;
  const step = async (): Promise<FillStep> => {
    const started = performance.now();
    const done = await fillStep(database);
    pauseMs = done === 'idle' ? lookEveryMs : performance.now() - started;
    return done;
  };
  return defer(step).pipe(
    tap(() => {
      failures = 0;
    }),
    repeat({ delay: () => timer(pauseMs) }),
    retry({
      delay: (thrown) => {
        failures += 1;
        const delayMs = Math.min(longestDelayMs, lookEveryMs * 2 ** Math.min(failures, 10));
        if (!stop.aborted) observer.packagesFailed(toIndexerError(thrown), delayMs);
        return timer(delayMs);
      },
    }),
    ignoreElements(),
  );
}
