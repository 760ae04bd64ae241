/**
 * Caught up, though no frame says so: offsets of rejected commands, and of what the filter does not show, bring no
 * update, and the next OffsetCheckpoint may be more than a minute away. While the stream is silent the ledger end is
 * looked at; where it is ahead of the checkpoint, the stretch between is asked for once over a stream of its own that
 * ends there. Only a stretch that is proven empty is passed; an update that lies in it is for the stream itself to bring.
 */
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import { nothingLeft } from '../intake/bound.ts';
import type { Frames } from '../intake/frames.ts';
import type { ProbeAnswer } from '../ports/observer.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryAfterMs } from '../retry/retry.ts';

/** What has no answer by then is given up, milliseconds. */
const answerWithinMs = 20_000;
/** Unanswered, or answered with an update that the stream owes, a question is repeated at longer and longer intervals. */
const longestPauseMs = 30_000;

/** The stream whose silence it is about. */
export interface IdleStream {
  readonly following: { readonly checkpoint: number };
  readonly frames: Pick<Frames, 'inbox' | 'lastFrameAt' | 'pass'>;
  /** Everything taken from the inbox is committed. */
  readonly isIdle: () => boolean;
}

/** Asks whenever it is time, until `signal` is aborted; never rejects. */
export async function probeWhileIdle(parts: PipelineParts, stream: IdleStream, signal: AbortSignal): Promise<void> {
  const questions = new Questions(parts, stream, signal);
  while (!signal.aborted) {
    // No longer than that at a time: a frame that comes meanwhile changes when it is time.
    await pause(Math.min(parts.limits.idleProbeAfterMs, Math.max(1, questions.dueInMs())), signal);
    if (!signal.aborted && questions.dueInMs() <= 0) await questions.look();
  }
}

class Questions {
  readonly #parts: PipelineParts;
  readonly #stream: IdleStream;
  readonly #signal: AbortSignal;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #heardAt = Number.NEGATIVE_INFINITY;
  /** In a row, without a frame between, that moved nothing. */
  #vain = 0;
  /** Until then the ledger asked to be left alone. */
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(parts: PipelineParts, stream: IdleStream, signal: AbortSignal) {
    this.#parts = parts;
    this.#stream = stream;
    this.#signal = signal;
  }

  dueInMs(): number {
    const { idleProbeAfterMs } = this.#parts.limits;
    const heardAt = this.#stream.frames.lastFrameAt();
    if (heardAt !== this.#heardAt) this.#vain = 0;
    this.#heardAt = heardAt;
    const pauseMs = Math.max(idleProbeAfterMs, Math.min(longestPauseMs, idleProbeAfterMs * 2 ** this.#vain));
    return Math.max(heardAt + idleProbeAfterMs, this.#lookedAt + pauseMs, this.#notBefore) - performance.now();
  }

  /** Looks at the ledger end, and asks for the stretch up to it when there is one. */
  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    if (!this.#isIdle) return;
    const { ledger, observers } = this.#parts;
    // Before the ledger end is: the checkpoint must not have moved since.
    const checkpoint = this.#stream.following.checkpoint;
    const heardAt = this.#heardAt;
    // A failure is told by the poll, which looks as well.
    const ledgerEnd = await ledger.state.ledgerEnd().catch((thrown: unknown) => {
      this.#sentAway(toIndexerError(thrown));
      return undefined;
    });
    if (this.#signal.aborted) return;
    if (ledgerEnd !== undefined) observers.polls.ledgerEnd(ledgerEnd);
    if (!this.#isStill(checkpoint, heardAt)) return;
    if (ledgerEnd !== undefined && ledgerEnd <= checkpoint) this.#vain = 0;
    else if (ledgerEnd === undefined || !(await this.#ask(checkpoint, ledgerEnd, heardAt))) this.#vain += 1;
  }

  /** True when the checkpoint is on its way to the ledger end. */
  async #ask(checkpoint: number, ledgerEnd: number, heardAt: number): Promise<boolean> {
    let answer: ProbeAnswer = 'refused';
    let error: IndexerError | undefined;
    try {
      answer = (await this.#isEmpty(checkpoint, ledgerEnd)) ? 'empty' : 'undelivered';
    } catch (thrown) {
      error = toIndexerError(thrown);
      this.#sentAway(error);
    }
    if (this.#signal.aborted) return false;
    // What has come since is newer than the answer.
    if (!this.#isStill(checkpoint, heardAt)) answer = 'obsolete';
    if (answer === 'empty') this.#stream.frames.pass(ledgerEnd);
    this.#parts.observers.polls.idleProbed(answer, error);
    return answer === 'empty';
  }

  #sentAway(error: IndexerError): void {
    this.#notBefore = performance.now() + retryAfterMs(error);
  }

  /**
   * A clean end before any update may be that of a gateway that lets go of its sockets, and an empty list that of one
   * whose patience is over; so both must say that nothing is there.
   */
  async #isEmpty(checkpoint: number, ledgerEnd: number): Promise<boolean> {
    if (await showsUpdate(this.#parts, checkpoint, ledgerEnd, this.#signal)) return false;
    return nothingLeft(this.#parts, checkpoint, ledgerEnd);
  }

  #isStill(checkpoint: number, heardAt: number): boolean {
    const { frames, following } = this.#stream;
    return frames.lastFrameAt() === heardAt && following.checkpoint === checkpoint && this.#isIdle;
  }

  get #isIdle(): boolean {
    return this.#stream.frames.inbox.length === 0 && this.#stream.isIdle();
  }
}

/** Whether a stream from `checkpoint` to `ledgerEnd` brings an update before its clean end. @throws how it ended otherwise */
async function showsUpdate(
  parts: PipelineParts,
  checkpoint: number,
  ledgerEnd: number,
  signal: AbortSignal,
): Promise<boolean> {
  // A right that is missing is refused, whatever token asks: no participant hides updates from a request instead.
  const token = await parts.tokenSource.lease();
  const request = updatesRequest(checkpoint, parts.filter, ledgerEnd);
  const over = new AbortController();
  const close = (): void => over.abort();
  signal.addEventListener('abort', close, { once: true });
  const limit = setTimeout(close, answerWithinMs);
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const stream = parts.openStream({
        path: '/v2/updates',
        request,
        token: token?.token,
        onFrame: (frame) => {
          if (!isOffsetCheckpoint(frame)) resolve(true);
        },
        onEnd: (error) => {
          if (error === undefined) resolve(false);
          else reject(error);
        },
      });
      over.signal.addEventListener('abort', () => stream.close(), { once: true });
      if (signal.aborted) close();
    });
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', close);
    close();
  }
}

/** Whatever is not surely one counts as an update. */
function isOffsetCheckpoint(frame: Buffer): boolean {
  return frame.toString('latin1', 0, 40).startsWith('{"update":{"OffsetCheckpoint"');
}
