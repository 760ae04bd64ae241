/**
 * A job beside the stream: it gathers something while the stream goes on, ends the session when that is ready, and puts it in before the
 * next one begins.
 */
import { Observable } from 'rxjs';
import type { Connected } from '../proof/identity.ts';

/** How far the stream is. */
export type Followed = { readonly checkpoint: number };

export interface BackgroundJob {
  /** Whether something is ready: the session ends for it. */
  readonly isReady: boolean;
  /**
   * Emits once, when the session should end. Never fails.
   * @param isBounded whether the run has an end: then it completes after one try, or at once where nobody waits for it then
   */
  watch$(connected: Connected, followed: Followed, isBounded: boolean): Observable<'ready'>;
  /** Between two sessions, while nobody follows: puts in what is ready. @returns whether the stream has to be looked at anew */
  putIn(connected: Connected): Promise<boolean>;
  /** What is ready and was not put in is given up. */
  close?(): Promise<void>;
}

/**
 * Runs `work` until it resolves, the session is over, or a stop is asked for. Emits if it resolves to true.
 * @param outlives whether work under way goes on after the session
 */
export function watching$(
  stop: AbortSignal,
  work: (stop: AbortSignal) => Promise<boolean>,
  outlives: () => boolean = () => false,
): Observable<'ready'> {
  return new Observable((subscriber) => {
    const over = new AbortController();
    const ended = (): void => over.abort();
    if (stop.aborted) ended();
    else stop.addEventListener('abort', ended, { once: true });
    void (async () => {
      if (await work(over.signal)) subscriber.next('ready');
      subscriber.complete();
    })();
    return () => {
      // What goes on still ends with the process.
      if (outlives()) return;
      stop.removeEventListener('abort', ended);
      over.abort();
    };
  });
}
