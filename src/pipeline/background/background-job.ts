/**
 * The interface of background jobs. A job reads while the stream is followed, and ends the session when its result is
 * ready. The result is stored before the next session begins.
 */
import { Observable } from 'rxjs';
import type { Connected } from '../proof/identity.ts';

/** Progress of the stream. */
export type StreamProgress = { readonly checkpoint: number };

export interface BackgroundJob {
  /** True when a result is ready; the session then ends so that the result can be stored. */
  readonly isReady: boolean;
  /**
   * Emits once, when the session should end. Never fails.
   * @param isBounded true for a run with an end; such a job tries at most once
   */
  watch$(connected: Connected, progress: StreamProgress, isBounded: boolean): Observable<'ready'>;
  /** Stores a ready result between two sessions. @returns true if the session has to be opened again */
  putIn(connected: Connected): Promise<boolean>;
  /** Discards a result that was not stored. */
  close?(): Promise<void>;
}

/**
 * Runs `work` until it resolves, the session ends, or a stop is requested. Emits `ready` if `work` resolves to true.
 * @param canOutlive whether `work` continues after the session
 */
export function watching$(
  stop: AbortSignal,
  work: (stop: AbortSignal) => Promise<boolean>,
  canOutlive: () => boolean = () => false,
): Observable<'ready'> {
  return new Observable((subscriber) => {
    const endController = new AbortController();
    const onSourceEnd = (): void => endController.abort();
    if (stop.aborted) onSourceEnd();
    else stop.addEventListener('abort', onSourceEnd, { once: true });
    void (async () => {
      if (await work(endController.signal)) subscriber.next('ready');
      subscriber.complete();
    })();
    return () => {
      // If the work outlives the session, it ends with the process.
      if (canOutlive()) return;
      stop.removeEventListener('abort', onSourceEnd);
      endController.abort();
    };
  });
}
