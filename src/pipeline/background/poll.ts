/**
 * Polls the ledger end and the pruned offset in addition to the stream. Detects a stream that no longer delivers frames
 * although its connection is open.
 */
import { defer, exhaustMap, ignoreElements, Observable } from 'rxjs';
import { pause } from '../../config/pause.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { FollowState } from '../follow/follow.ts';
import type { Connected } from '../proof/identity.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { WriterSession } from '../ports/sink.ts';
import { retryAfterMs } from '../retry/retry.ts';
import { pauseForToken, isCallerRefused } from '../retry/wait.ts';

/**
 * Delay from the start of a failed poll to the next attempt, in milliseconds. It is short, so that a single lost
 * response does not cause `ledger_timeout`.
 */
const retryPollMs = 1_000;

/** Result of one poll. */
interface LedgerPoll {
  readonly ledgerEnd: number;
  /** Undefined if the ledger did not return it. */
  readonly pruned: number | undefined;
}

/** Receiver of poll results. */
interface PollListener {
  ledgerEnd(ledgerEnd: number): void;
  polled(ledgerPoll: LedgerPoll): void;
}

/** Emits nothing. Fails if no frames arrive although the ledger end advances. */
export function poll$(
  parts: PipelineParts,
  { session, requestedAt }: Pick<Connected, 'session' | 'requestedAt'>,
  followState: FollowState,
  onLedgerEnd: (ledgerEnd: number) => void,
): Observable<never> {
  const silence = new SilenceLimit(followState, parts.limits.silenceMs);
  const polled$ = new Observable<LedgerPoll>((subscriber) => {
    const endController = new AbortController();
    const listening: PollListener = {
      ledgerEnd: (ledgerEnd) => {
        parts.observers.polls.ledgerEnd(ledgerEnd);
        onLedgerEnd(ledgerEnd);
        silence.refuse(ledgerEnd);
      },
      polled: (ledgerPoll) => {
        if (ledgerPoll.pruned !== undefined) parts.observers.polls.pruned(ledgerPoll.pruned);
        subscriber.next(ledgerPoll);
      },
    };
    pollUntil(parts, followState, requestedAt, listening, endController.signal).catch((thrown: unknown) => {
      subscriber.error(thrown);
    });
    return () => {
      endController.abort();
    };
  });
  // A slow database must not delay requests to the ledger, because the two are reported independently.
  return polled$.pipe(
    exhaustMap((ledgerPoll) => defer(() => recordPoll(parts, session, ledgerPoll))),
    ignoreElements(),
  );
}

/** Polls repeatedly. @throws whatever `listening` throws */
async function pollUntil(
  parts: PipelineParts,
  followState: FollowState,
  requestedAt: number,
  listening: PollListener,
  signal: AbortSignal,
): Promise<void> {
  const { tokenSource, observers, limits } = parts;
  let refusalCount = 0;
  await pause(Math.max(0, requestedAt + limits.pollMs - performance.now()), signal);
  while (!signal.aborted) {
    const startedAt = performance.now();
    const failure = await poll(parts, listening, signal);
    if (signal.aborted) return;
    if (failure !== undefined) {
      refusalCount = isCallerRefused(failure) ? refusalCount + 1 : 0;
      // The token is invalidated only once. If the ledger refuses the new token as well, each poll would request yet
      // another token.
      if (refusalCount === 1) tokenSource.invalidate();
      // The session depends on the stream. A failed poll is only reported and repeated.
      const retryAt = startedAt + Math.min(retryPollMs, limits.pollMs);
      const delayMs = Math.max(0, Math.round(retryAt - performance.now()), retryAfterMs(failure));
      observers.stream.failed('ledger', failure, delayMs);
      await pauseForToken(parts, failure, delayMs, signal);
      continue;
    }
    // If the ledger has refused its token, a stream may stay open without sending frames. It is reopened with the token
    // that was accepted.
    if (refusalCount > 0) followState.renew();
    refusalCount = 0;
    await pause(Math.max(0, startedAt + limits.pollMs - performance.now()), signal);
  }
}

/**
 * Requests the ledger end and then the pruned offset. The ledger end is requested first, because readiness depends only
 * on the ledger end.
 * @returns the failure of either request
 */
async function poll(
  { polledLedger: { state } }: PipelineParts,
  listening: PollListener,
  signal: AbortSignal,
): Promise<IndexerError | undefined> {
  const ledgerEnd = await state.ledgerEnd().catch(toIndexerError);
  if (signal.aborted) return undefined;
  if (ledgerEnd instanceof IndexerError) return ledgerEnd;
  listening.ledgerEnd(ledgerEnd);
  const pruned = await state.latestPrunedOffsets().catch(toIndexerError);
  if (signal.aborted) return undefined;
  const failed = pruned instanceof IndexerError;
  listening.polled({ ledgerEnd, pruned: failed ? undefined : pruned });
  return failed ? pruned : undefined;
}

async function recordPoll(
  parts: PipelineParts,
  session: WriterSession,
  { ledgerEnd, pruned }: LedgerPoll,
): Promise<void> {
  try {
    await session.noteLedger(ledgerEnd, pruned);
    parts.observers.polls.verified(await parts.sink.verifications());
    parts.observers.polls.contractsUnhosted(await parts.sink.unhostedContracts());
  } catch (thrown) {
    parts.observers.stream.failed('store', toIndexerError(thrown), parts.limits.pollMs);
  }
}

// Detects a stream that answers pings but delivers no frame although the ledger end has advanced, and limits how long
// this may last.

export class SilenceLimit {
  readonly #following: Pick<FollowState, 'checkpoint' | 'lastFrameAt'>;
  readonly #limitMs: number;
  /**
   * The checkpoint that the ledger end has passed, and since when; undefined if the ledger end has not passed the
   * checkpoint.
   */
  #owed: { readonly checkpoint: number; readonly sinceMs: number } | undefined;

  constructor(followState: Pick<FollowState, 'checkpoint' | 'lastFrameAt'>, limitMs: number) {
    this.#following = followState;
    this.#limitMs = limitMs;
  }

  /**
   * Receives each polled ledger end.
   * @throws IndexerError LEDGER_PING_TIMEOUT when frames have been missing for too long
   */
  refuse(ledgerEnd: number): void {
    const { checkpoint } = this.#following;
    const nowMs = performance.now();
    // The time is counted from the poll that found the ledger end ahead. After hours without updates, a new update is
    // not overdue by hours.
    if (ledgerEnd <= checkpoint) this.#owed = undefined;
    else if (this.#owed?.checkpoint !== checkpoint) this.#owed = { checkpoint, sinceMs: nowMs };
    if (this.#owed === undefined) return;
    const silenceMs = nowMs - Math.max(this.#owed.sinceMs, this.#following.lastFrameAt());
    if (silenceMs < this.#limitMs) return;
    throw new IndexerError(
      `no frame for ${String(Math.round(silenceMs / 1000))} s although the ledger end ${String(ledgerEnd)} is past the checkpoint`,
      {
        code: 'LEDGER_PING_TIMEOUT',
        remedy: 'the stream is reopened; if this repeats, check the proxies between the indexer and the participant',
      },
    );
  }
}
