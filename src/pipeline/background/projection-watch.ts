/**
 * Fills the projections in the background. It runs only during a session, so only the holder of the writer lock fills
 * them. The stream never waits for this work and never fails because of it.
 */
import { EMPTY, Observable } from 'rxjs';
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts, Projections } from '../ports/parts.ts';
import type { StreamProgress } from './background-job.ts';

/** Share of the time that steps may take while the stream is busy, while it is not, and while nothing is stored. */
const shares = { busy: 0.1, usual: 0.5, idle: 0.9 } as const;
/** A stream that advances by more offsets a second than this is busy. */
const busyPerSecond = 1_000;
/** Delay after which new updates are looked for, milliseconds. */
const idleMs = 500;
const failedMs = 10_000;

/** Fills projections while subscribed. Emits nothing, never fails and never completes. */
export function projecting$(
  { projections, observers, stop }: Pick<PipelineParts, 'projections' | 'observers' | 'stop'>,
  followed: StreamProgress,
): Observable<never> {
  if (projections === undefined) return EMPTY;
  return new Observable(() => {
    const over = new AbortController();
    const ended = AbortSignal.any([stop, over.signal]);
    const session = projections();
    void fillUntil(ended, session, observers.projections, followed);
    return () => {
      over.abort();
      // The next session must not wait for a statement of this one.
      void session.close();
    };
  });
}

async function fillUntil(
  ended: AbortSignal,
  projections: Projections,
  observer: PipelineParts['observers']['projections'],
  followed: StreamProgress,
): Promise<void> {
  while (!ended.aborted) {
    const begin = performance.now();
    const { checkpoint } = followed;
    try {
      const step = await projections.step();
      if (step === 'off') break;
      if (step === undefined) await pause(idleMs, ended);
      else {
        observer.stepped(step);
        const ms = performance.now() - begin;
        const perSecond = ((followed.checkpoint - checkpoint) * 1000) / ms;
        const share = perSecond > busyPerSecond ? shares.busy : perSecond > 0 ? shares.usual : shares.idle;
        if (!('isSlow' in step && step.isSlow)) await pause(ms / share - ms, ended);
      }
    } catch (thrown) {
      const error = toIndexerError(thrown);
      const isConflict = error.code === 'STORE_CONFLICT';
      if (!ended.aborted && !isConflict) observer.failed(error, failedMs);
      await pause(isConflict ? idleMs : failedMs, ended);
    }
  }
  await projections.close().catch(() => undefined);
}
