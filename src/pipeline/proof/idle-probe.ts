/**
 * Moves the checkpoint of an idle stream to the ledger end although no frame reports it. Offsets of rejected commands,
 * and of updates that the filter excludes, bring no update, and the next OffsetCheckpoint may be more than a minute
 * away. While the stream is idle, the ledger end is polled. If it is ahead of the checkpoint, the range in between is
 * requested once over a separate stream that ends there. The checkpoint moves past the range only if the range is
 * verified to be empty. If the range contains an update, the stream itself has to deliver it.
 */
import { pause } from '../../config/pause.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import { isRangeEmpty } from '../intake/bound.ts';
import type { Frames } from '../intake/frames.ts';
import type { ProbeAnswer } from '../ports/observer.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryAfterMs } from '../retry/retry.ts';

/** A request without a response is abandoned after this long, milliseconds. */
const probeTimeoutMs = 20_000;
/**
 * Longest interval between probes, milliseconds. The interval grows while probes get no response, or find an update
 * that the stream has yet to deliver.
 */
const longestPauseMs = 30_000;

/** The idle stream. */
export interface IdleStream {
  readonly following: { readonly checkpoint: number };
  readonly frames: Pick<Frames, 'inbox' | 'lastFrameAt' | 'pass'>;
  /** True if everything taken from the inbox is committed. */
  readonly isIdle: () => boolean;
}

/** Probes whenever a probe is due, until `signal` is aborted; never rejects. */
export async function probeWhileIdle(parts: PipelineParts, stream: IdleStream, signal: AbortSignal): Promise<void> {
  const probeRun = new ProbeRun(parts, stream, signal);
  while (!signal.aborted) {
    // Pauses at most `idleProbeAfterMs` at a time, because a frame that arrives during the pause changes when the next
    // probe is due.
    await pause(Math.min(parts.limits.idleProbeAfterMs, Math.max(1, probeRun.dueInMs())), signal);
    if (!signal.aborted && probeRun.dueInMs() <= 0) await probeRun.look();
  }
}

class ProbeRun {
  readonly #parts: PipelineParts;
  readonly #stream: IdleStream;
  readonly #signal: AbortSignal;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Number of consecutive probes, without a frame in between, after which the checkpoint did not move. */
  #vain = 0;
  /** The ledger requires that no requests are sent before this time (Retry-After). */
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(parts: PipelineParts, stream: IdleStream, signal: AbortSignal) {
    this.#parts = parts;
    this.#stream = stream;
    this.#signal = signal;
  }

  dueInMs(): number {
    const { idleProbeAfterMs } = this.#parts.limits;
    const lastHeardMs = this.#stream.frames.lastFrameAt();
    if (lastHeardMs !== this.#heardAt) this.#vain = 0;
    this.#heardAt = lastHeardMs;
    const pauseMs = Math.max(idleProbeAfterMs, Math.min(longestPauseMs, idleProbeAfterMs * 2 ** this.#vain));
    return Math.max(lastHeardMs + idleProbeAfterMs, this.#lookedAt + pauseMs, this.#notBefore) - performance.now();
  }

  /** Polls the ledger end, and probes the range up to it if it is ahead of the checkpoint. */
  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    if (!this.#isIdle) return;
    const { ledger, observers } = this.#parts;
    // Read before the request, so that a checkpoint that moves meanwhile is noticed.
    const checkpoint = this.#stream.following.checkpoint;
    const lastHeardMs = this.#heardAt;
    // The regular poll sends the same request and reports the failure.
    const ledgerEnd = await ledger.state.ledgerEnd().catch((thrown: unknown) => {
      this.#sentAway(toIndexerError(thrown));
      return undefined;
    });
    if (this.#signal.aborted) return;
    if (ledgerEnd !== undefined) observers.polls.ledgerEnd(ledgerEnd);
    if (!this.#isStill(checkpoint, lastHeardMs)) return;
    if (ledgerEnd !== undefined && ledgerEnd <= checkpoint) this.#vain = 0;
    else if (ledgerEnd === undefined || !(await this.#ask(checkpoint, ledgerEnd, lastHeardMs))) this.#vain += 1;
  }

  /** Probes the range. @returns true if the checkpoint is about to move to the ledger end */
  async #ask(checkpoint: number, ledgerEnd: number, lastHeardMs: number): Promise<boolean> {
    let probeAnswer: ProbeAnswer = 'refused';
    let error: IndexerError | undefined;
    try {
      probeAnswer = (await this.#isEmpty(checkpoint, ledgerEnd)) ? 'empty' : 'undelivered';
    } catch (thrown) {
      error = toIndexerError(thrown);
      this.#sentAway(error);
    }
    if (this.#signal.aborted) return false;
    // Frames that were received in the meantime are newer than the response.
    if (!this.#isStill(checkpoint, lastHeardMs)) probeAnswer = 'obsolete';
    if (probeAnswer === 'empty') this.#stream.frames.pass(ledgerEnd);
    this.#parts.observers.polls.idleProbed(probeAnswer, error);
    return probeAnswer === 'empty';
  }

  #sentAway(error: IndexerError): void {
    this.#notBefore = performance.now() + retryAfterMs(error);
  }

  /**
   * A clean end before any update may come from a gateway that closes its sockets, and an empty list may come from a
   * gateway that times out. Therefore both the stream and the list must be empty.
   */
  async #isEmpty(checkpoint: number, ledgerEnd: number): Promise<boolean> {
    if (await canSeeUpdate(this.#parts, checkpoint, ledgerEnd, this.#signal)) return false;
    return isRangeEmpty(this.#parts, checkpoint, ledgerEnd);
  }

  #isStill(checkpoint: number, lastHeardMs: number): boolean {
    const { frames, following: followState } = this.#stream;
    return frames.lastFrameAt() === lastHeardMs && followState.checkpoint === checkpoint && this.#isIdle;
  }

  get #isIdle(): boolean {
    return this.#stream.frames.inbox.length === 0 && this.#stream.isIdle();
  }
}

/**
 * Whether a stream from `checkpoint` to `ledgerEnd` delivers an update before its clean end.
 * @throws the error that ended the stream otherwise
 */
async function canSeeUpdate(
  parts: PipelineParts,
  checkpoint: number,
  ledgerEnd: number,
  signal: AbortSignal,
): Promise<boolean> {
  // The token may differ from that of the followed stream: if a right is missing, the participant refuses the request
  // instead of hiding updates.
  const token = await parts.tokenSource.lease();
  const request = updatesRequest(checkpoint, parts.filter, ledgerEnd);
  const endController = new AbortController();
  const close = (): void => endController.abort();
  signal.addEventListener('abort', close, { once: true });
  const limit = setTimeout(close, probeTimeoutMs);
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
      endController.signal.addEventListener('abort', () => stream.close(), { once: true });
      if (signal.aborted) close();
    });
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', close);
    close();
  }
}

/** A frame that is not certainly an OffsetCheckpoint counts as an update. */
function isOffsetCheckpoint(frame: Buffer): boolean {
  return frame.toString('latin1', 0, 40).startsWith('{"update":{"OffsetCheckpoint"');
}
