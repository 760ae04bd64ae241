/** The ledger seen from outside the stream: its end, what is pruned, and whether the stream is silently dead. */
import { defer, exhaustMap, ignoreElements, Observable } from 'rxjs';
import { pause } from '../../config/pause.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { Following } from '../follow/follow.ts';
import type { Connected } from '../proof/identity.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { SinkSession } from '../ports/sink.ts';
import { retryAfterMs } from '../retry/retry.ts';
import { pauseForToken, refusesCaller } from '../retry/wait.ts';

/** A question that failed is asked again so long after it was asked, milliseconds: one lost answer causes no `ledger_timeout`. */
const askAgainMs = 1_000;

/** What one poll learned. */
interface Polled {
  readonly ledgerEnd: number;
  /** Undefined: it was not told. */
  readonly pruned: number | undefined;
}

/** Who is told of it. */
interface Listening {
  ledgerEnd(ledgerEnd: number): void;
  polled(polled: Polled): void;
}

/** Emits nothing; fails when frames stay away although the ledger moves on. */
export function poll$(
  parts: PipelineParts,
  { session, requestedAt }: Pick<Connected, 'session' | 'requestedAt'>,
  following: Following,
  onLedgerEnd: (ledgerEnd: number) => void,
): Observable<never> {
  const silence = new SilenceLimit(following, parts.limits.silenceMs);
  const polled$ = new Observable<Polled>((subscriber) => {
    const over = new AbortController();
    const listening: Listening = {
      ledgerEnd: (ledgerEnd) => {
        parts.observers.polls.ledgerEnd(ledgerEnd);
        onLedgerEnd(ledgerEnd);
        silence.refuse(ledgerEnd);
      },
      polled: (polled) => {
        if (polled.pruned !== undefined) parts.observers.polls.pruned(polled.pruned);
        subscriber.next(polled);
      },
    };
    pollUntil(parts, following, requestedAt, listening, over.signal).catch((thrown: unknown) => {
      subscriber.error(thrown);
    });
    return () => {
      over.abort();
    };
  });
  // A slow database must not keep the ledger from being asked: what is known of one says nothing of the other.
  return polled$.pipe(
    exhaustMap((polled) => defer(() => note(parts, session, polled))),
    ignoreElements(),
  );
}

/** Asks again and again. @throws what `listening` throws */
async function pollUntil(
  parts: PipelineParts,
  following: Following,
  requestedAt: number,
  listening: Listening,
  signal: AbortSignal,
): Promise<void> {
  const { tokenSource, observers, limits } = parts;
  let refusals = 0;
  await pause(Math.max(0, requestedAt + limits.pollMs - performance.now()), signal);
  while (!signal.aborted) {
    const startedAt = performance.now();
    const failure = await poll(parts, listening, signal);
    if (signal.aborted) return;
    if (failure !== undefined) {
      refusals = refusesCaller(failure) ? refusals + 1 : 0;
      // Once: if the new token is refused as well, the poll would use up one after the other for as long as it runs.
      if (refusals === 1) tokenSource.invalidate();
      // The stream decides about the session; a failed poll is shown and comes again.
      const askAgainAt = startedAt + Math.min(askAgainMs, limits.pollMs);
      const delayMs = Math.max(0, Math.round(askAgainAt - performance.now()), retryAfterMs(failure));
      observers.stream.failed('ledger', failure, delayMs);
      await pauseForToken(parts, failure, delayMs, signal);
      continue;
    }
    // A stream whose token was refused may stay open and silent: it is opened again with the one that was not.
    if (refusals > 0) following.renew();
    refusals = 0;
    await pause(Math.max(0, startedAt + limits.pollMs - performance.now()), signal);
  }
}

/** The failure of either question; the ledger end, which readiness hangs on, is learned without the other. */
async function poll(
  { polledLedger: { state } }: PipelineParts,
  listening: Listening,
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

async function note(parts: PipelineParts, session: SinkSession, { ledgerEnd, pruned }: Polled): Promise<void> {
  try {
    await session.noteLedger(ledgerEnd, pruned);
    parts.observers.polls.verified(await parts.sink.verifications());
    parts.observers.polls.contractsUnhosted(await parts.sink.unhostedContracts());
  } catch (thrown) {
    parts.observers.stream.failed('store', toIndexerError(thrown), parts.limits.pollMs);
  }
}

// A stream that is alive by all its pings and brings nothing, although the ledger has moved on: for how long it may.

export class SilenceLimit {
  readonly #following: Pick<Following, 'checkpoint' | 'lastFrameAt'>;
  readonly #limitMs: number;
  /** The checkpoint that the ledger end is past, and since when that is known. */
  #owed: { readonly checkpoint: number; readonly sinceMs: number } | undefined;

  constructor(following: Pick<Following, 'checkpoint' | 'lastFrameAt'>, limitMs: number) {
    this.#following = following;
    this.#limitMs = limitMs;
  }

  /** Told of the ledger end now and then. @throws IndexerError LEDGER_PING_TIMEOUT when frames stay away for too long */
  refuse(ledgerEnd: number): void {
    const { checkpoint } = this.#following;
    const nowMs = performance.now();
    // What happens on the ledger after hours without anything has not been owed for hours.
    if (ledgerEnd <= checkpoint) this.#owed = undefined;
    else if (this.#owed?.checkpoint !== checkpoint) this.#owed = { checkpoint, sinceMs: nowMs };
    if (this.#owed === undefined) return;
    const silentMs = nowMs - Math.max(this.#owed.sinceMs, this.#following.lastFrameAt());
    if (silentMs < this.#limitMs) return;
    throw new IndexerError(
      `no frame for ${String(Math.round(silentMs / 1000))} s although the ledger end ${String(ledgerEnd)} is past the checkpoint`,
      {
        code: 'LEDGER_PING_TIMEOUT',
        remedy: 'the stream is opened again; if it repeats, look at proxies between here and the participant',
      },
    );
  }
}
