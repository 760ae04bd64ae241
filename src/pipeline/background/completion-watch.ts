/**
 * Follows command completions on a separate socket and stores them up to the checkpoint of the stream. Completions
 * report the outcome of submitted commands. They include rejected commands, which have no update. Nothing here stops or
 * delays the stream: failures are reported and retried. Some participants return completions only to the user who
 * submitted the command. This is reported once.
 */
import { EMPTY, Observable } from 'rxjs';
import { atOffset, toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { ledgerError } from '../../ledger/errors/make-ledger-error.ts';
import type { AccessToken } from '../../ledger/access/token.ts';
import type { FrameStream } from '../../ledger/transport/frame-stream.ts';
import type { Completion, CompletionFrame } from '../../model/update.ts';
import { UnknownNames } from '../../model/unknown.ts';
import { outOfOrderError } from '../follow/follow-errors.ts';
import type { FollowState } from '../follow/follow.ts';
import { completionOf } from '../participant/with-participant-offsets.ts';
import { Inbox } from '../intake/inbox.ts';
import { newerToken } from '../intake/token-renewal.ts';
import type { CompletionFacts } from '../ports/observer.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { Connected } from '../proof/identity.ts';
import { decide, FailureCount } from '../retry/retry.ts';
import { pauseForToken } from '../retry/wait.ts';

/** Users with read rights may read completions of any user here. Source: the participant's release notes of 3.5.7. */
const path = '/v2/commands/command-completions';
/**
 * Maximum number of frames in one transaction, and of frames held while the stream is behind. At the maximum, the
 * socket is paused.
 */
const maxFrames = 500;
const maxBytes = 1024 * 1024;
/** This delay is long, because participants are rarely upgraded to a release that has the endpoint. */
const notServedDelayMs = 10 * 60_000;
/** If no frame arrives for this long after the handshake, the request was accepted. */
const quietMs = 700;
/**
 * Maximum wait for completions at the end of a bounded run. It is longer than a participant takes to send its first
 * checkpoint.
 */
const settleTimeoutMs = 5_000;

/** Values of one session of the watch. */
interface WatchContext {
  readonly connected: Connected;
  readonly following: Pick<FollowState, 'checkpoint'>;
  readonly stop: AbortSignal;
}

/** There is one instance for the lifetime of the process. */
export class CompletionWatch {
  readonly #parts: PipelineParts;
  readonly #failures = new FailureCount();
  /**
   * Callbacks that run when the checkpoint of the stream or of the completions has advanced, and when the session has
   * ended.
   */
  readonly #waiting = new Set<() => void>();
  /** Completions are stored up to this offset; undefined while they are not followed. */
  #stored: number | undefined;
  #failing = false;
  /** True when the stream has ended. From then on, only completions up to its checkpoint are awaited. */
  #settling = false;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Called when the stream has committed a batch. */
  stir(): void {
    for (const resolveWait of this.#waiting) resolveWait();
    this.#waiting.clear();
  }

  /** Follows completions while subscribed. Emits nothing and never fails. */
  watch$(connected: Connected, followState: Pick<FollowState, 'checkpoint'>): Observable<never> {
    const { completions, observers, stop } = this.#parts;
    if (completions === 'off') {
      this.#failing = true;
      observers.completions.off('INDEXER_COMPLETIONS=off');
      return EMPTY;
    }
    return new Observable(() => {
      const endController = new AbortController();
      const watchContext = { connected, following: followState, stop: AbortSignal.any([stop, endController.signal]) };
      // While a composite signal has a listener, Node keeps the signal and its session in memory.
      watchContext.stop.addEventListener('abort', () => this.stir(), { once: true });
      void this.#untilOver(watchContext);
      return () => {
        endController.abort();
      };
    });
  }

  /**
   * Used at the end of a bounded run. Resolves when completions are stored up to `offset`, or when following has failed
   * or takes too long.
   */
  async settled(offset: number): Promise<void> {
    const { stop } = this.#parts;
    const onCheckpoint = (): void => this.stir();
    const end = performance.now() + settleTimeoutMs;
    const timer = setTimeout(onCheckpoint, settleTimeoutMs + 1);
    stop.addEventListener('abort', onCheckpoint);
    this.#settling = true;
    onCheckpoint();
    while (!stop.aborted && !this.#failing && (this.#stored ?? -1) < offset && performance.now() < end) {
      await this.#stirred();
    }
    clearTimeout(timer);
    stop.removeEventListener('abort', onCheckpoint);
  }

  #stirred(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  async #untilOver(watchContext: WatchContext): Promise<void> {
    const { stop } = watchContext;
    while (!stop.aborted) {
      try {
        await this.#follow(watchContext);
      } catch (thrown) {
        if (stop.aborted) return;
        await this.#recover(watchContext, toIndexerError(thrown));
      }
    }
  }

  /** Records a gap if completions were pruned; otherwise reports the failure and waits. */
  async #recover(watchContext: WatchContext, error: IndexerError): Promise<void> {
    const { observers, tokenSource, limits } = this.#parts;
    if (await this.#skipped(watchContext, error)) return;
    this.#failing = true;
    this.stir();
    if (error.code === 'LEDGER_NOT_A_LEDGER' || error.code === 'LEDGER_PERMISSION_DENIED') {
      observers.completions.off(reasonOf(error), error);
    }
    if (error.retry === 'refresh-token') tokenSource.invalidate();
    const retryDecision = decide(error, this.#failures.add(error), limits.retryMaxDelayMs, Math.random());
    const delayMs = retryDecision.kind === 'give-up' ? limits.retryMaxDelayMs : retryDecision.delayMs;
    const waitMs = error.code === 'LEDGER_NOT_A_LEDGER' ? notServedDelayMs : delayMs;
    observers.completions.failed(error, waitMs);
    await pauseForToken(this.#parts, error, waitMs, watchContext.stop);
  }

  /**
   * Records the gap if completions were pruned before they were read.
   * @returns true if following resumes after the gap
   */
  async #skipped({ connected, following: followState, stop }: WatchContext, error: IndexerError): Promise<boolean> {
    if (error.code !== 'LEDGER_PRUNED') return false;
    try {
      const from = await this.#open(connected);
      const to = error.facts['earliestOffset'];
      // If even the checkpoint of the stream is pruned, updates are missing too, and the stream reports that.
      if (typeof to !== 'number' || to <= from || to > followState.checkpoint || stop.aborted) return false;
      const reason = `the participant had pruned its completions up to offset ${String(to)} before they were read`;
      await connected.session.completions.skip({ from, to, reason });
      this.#parts.observers.completions.skipped(from, to);
      return true;
    } catch {
      // The next attempt fails with the same error.
      return false;
    }
  }

  async #open({ session, parts }: Connected): Promise<number> {
    const { sink, filter } = parts;
    return session.completions.open({ begin: await sink.marks.historyBegin(), parties: filter.parties });
  }

  /** Follows one stream of completions until it ends. @throws IndexerError with the reason for the end */
  async #follow(watchContext: WatchContext): Promise<void> {
    const { connected, stop } = watchContext;
    const { parties } = connected.parts.filter;
    const beginExclusive = await this.#open(connected);
    const token = await this.#parts.tokenSource.lease();
    if (stop.aborted) return;
    const acceptance = this.#acceptance(beginExclusive, stop);
    const { inbox, stream } = openInbox(connected.parts, { parties, beginExclusive }, token?.token, acceptance.opened);
    const endController = new AbortController();
    const end = (): void => {
      inbox.stop();
    };
    stop.addEventListener('abort', end);
    void stopForNewerToken(this.#parts, token, inbox, endController.signal);
    try {
      const batchStore = new CompletionBatch(watchContext, beginExclusive);
      for (;;) {
        const frames = await inbox.take(maxFrames, maxBytes);
        if (stop.aborted || (inbox.stopped && frames.length === 0)) return;
        if (frames.length === 0) throw ledgerError('LEDGER_STREAM_CLOSED', `${path} was closed with code 1000`);
        acceptance.tell();
        await this.#store(batchStore, frames, watchContext);
      }
    } finally {
      endController.abort();
      stop.removeEventListener('abort', end);
      acceptance.forget();
      stream.close();
    }
  }

  /**
   * A participant that rejects the caller sends an error frame after the handshake. Data, or no frame for a while,
   * means that the caller is accepted.
   */
  #acceptance(checkpoint: number, stop: AbortSignal) {
    let timer: NodeJS.Timeout | undefined;
    let isDone = false;
    const report = (): void => {
      if (isDone || stop.aborted) return;
      isDone = true;
      this.#moved(checkpoint);
      this.#parts.observers.completions.followed(checkpoint);
    };
    return {
      tell: report,
      opened: (): void => {
        timer = setTimeout(report, quietMs);
      },
      forget: (): void => {
        isDone = true;
        clearTimeout(timer);
      },
    };
  }

  /**
   * Stores received completions as soon as the stream has reached their offsets. If a frame cannot be decoded, the
   * completions before it are still stored.
   */
  async #store(
    batchStore: CompletionBatch,
    frames: readonly Buffer[],
    { following: followState, stop }: WatchContext,
  ): Promise<void> {
    let failure: IndexerError | undefined;
    for (const frame of frames) {
      failure = batchStore.take(frame);
      if (failure !== undefined) break;
    }
    while (batchStore.next !== undefined && !stop.aborted) {
      const limit = followState.checkpoint;
      // A later completion implies that all earlier ones have arrived.
      const isBelowLimit = this.#settling && batchStore.checkpoint < limit;
      if (batchStore.next > limit && !isBelowLimit) await this.#stirred();
      else {
        const facts = await batchStore.write(limit);
        this.#failures.clear();
        this.#moved(facts.checkpoint);
        this.#parts.observers.completions.stored(facts);
      }
    }
    if (failure !== undefined) throw failure;
  }

  #moved(checkpoint: number): void {
    this.#stored = checkpoint;
    this.#failing = false;
    this.stir();
  }
}

/**
 * A stream is opened with one token. When there is a newer token, the stream is reopened with the newer token before
 * the old one expires.
 */
async function stopForNewerToken(
  parts: PipelineParts,
  currentToken: AccessToken | undefined,
  inbox: Inbox<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  // The update stream reports failed attempts to get a token.
  if (await newerToken(parts, currentToken, signal, () => undefined)) inbox.stop();
}

function reasonOf({ code }: IndexerError): string {
  return code === 'LEDGER_PERMISSION_DENIED'
    ? 'the user may not read the completions of these parties'
    : 'the participant returns completions to their own users only, before release 3.5.7';
}

function openInbox(parts: PipelineParts, request: object, token: string | undefined, onOpen: () => void) {
  let stream: FrameStream | undefined;
  const flowControl = { pause: () => stream?.pause(), resume: () => stream?.resume(), paused: () => undefined };
  const inbox = new Inbox<Buffer>({ frames: maxFrames, bytes: maxBytes }, flowControl);
  stream = parts.openStream({
    path,
    request,
    token,
    onOpen,
    onFrame: (frame) => {
      inbox.push(frame, frame.length);
    },
    onEnd: (error) => {
      inbox.end(error);
    },
  });
  return { inbox, stream };
}

/** Completions that are decoded but not yet stored, in order. */
class CompletionBatch {
  readonly #watched: WatchContext;
  #checkpoint: number;
  #seen: number;
  #held: CompletionFrame[] = [];
  #unknown = new UnknownNames();

  constructor(watchContext: WatchContext, checkpoint: number) {
    this.#watched = watchContext;
    this.#checkpoint = checkpoint;
    this.#seen = checkpoint;
  }

  /** Offset of the first held completion; undefined if none is held. */
  get next(): number | undefined {
    return this.#held[0]?.offset;
  }

  /** Completions are stored up to this offset. */
  get checkpoint(): number {
    return this.#checkpoint;
  }

  /** Decodes a frame. @returns the error, if the frame cannot be used */
  take(bytes: Buffer): IndexerError | undefined {
    try {
      const frame = completionOf(this.#watched.connected.parts, bytes.toString(), this.#unknown);
      if (frame.kind === 'completion' && frame.offset <= this.#seen) return outOfOrderError(frame.offset, this.#seen);
      // A checkpoint may repeat the current offset.
      if (frame.offset > this.#seen) this.#held.push(frame);
      this.#seen = Math.max(this.#seen, frame.offset);
      return undefined;
    } catch (thrown) {
      return toIndexerError(thrown);
    }
  }

  /**
   * Writes the held completions up to `limit`. If there are none, records that there are no completions up to `limit`.
   */
  async write(limit: number): Promise<CompletionFacts> {
    const count = this.#held.findLastIndex(({ offset }) => offset <= limit) + 1;
    const frames = this.#held.slice(0, count);
    const to = frames.at(-1)?.offset ?? limit;
    const completions = frames.filter((frame): frame is Completion => frame.kind === 'completion');
    try {
      await this.#watched.connected.session.completions.write(completions, this.#checkpoint, to);
    } catch (thrown) {
      const error = toIndexerError(thrown);
      throw completions.length === 1 && completions[0] !== undefined ? atOffset(error, completions[0].offset) : error;
    }
    this.#held = this.#held.slice(count);
    this.#checkpoint = to;
    const { all: unknownNames } = this.#unknown;
    this.#unknown = new UnknownNames();
    return { ...countsOf(completions), checkpoint: to, unknown: unknownNames };
  }
}

function countsOf(completions: readonly Completion[]): Pick<CompletionFacts, 'accepted' | 'rejected'> {
  const rejectedCounts = new Map<string, number>();
  for (const { rejection } of completions) {
    if (rejection === null) continue;
    const code = rejection.code ?? 'unknown';
    rejectedCounts.set(code, (rejectedCounts.get(code) ?? 0) + 1);
  }
  const rejections = [...rejectedCounts.values()].reduce((sum, count) => sum + count, 0);
  return { accepted: completions.length - rejections, rejected: rejectedCounts };
}
