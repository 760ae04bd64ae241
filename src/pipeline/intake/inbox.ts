/**
 * Bounded buffer between a socket that delivers frames and a writer that requests them. The buffer pauses the socket
 * when it is full and resumes the socket when half of it is free. It never drops a frame while running. Pure except for
 * its clock.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';

export interface InboxLimits {
  readonly frames: number;
  readonly bytes: number;
}

export interface InboxValve {
  pause(): void;
  resume(): void;
  /** Called when the socket is resumed. @param seconds how long it was paused */
  paused(seconds: number): void;
}

interface QueuedFrame<F> {
  readonly frame: F;
  readonly bytes: number;
}

/** @typeParam F representation of a frame */
export class Inbox<F> {
  readonly #limits: InboxLimits;
  readonly #valve: InboxValve;
  #frames: QueuedFrame<F>[] = [];
  #head = 0;
  #bytes = 0;
  #pausedAt: number | undefined;
  #ended: { readonly error: IndexerError | undefined } | undefined;
  #stopped = false;
  #wake: (() => void) | undefined;

  constructor(limits: InboxLimits, flowControl: InboxValve) {
    this.#limits = limits;
    this.#valve = flowControl;
  }

  get length(): number {
    return this.#frames.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * True after `stop`. The queued frames are dropped. They will be read again from the checkpoint, by this process or
   * by the next one.
   */
  get stopped(): boolean {
    return this.#stopped;
  }

  push(frame: F, bytes: number): void {
    if (this.#stopped) return;
    this.#frames.push({ frame, bytes });
    this.#bytes += bytes;
    if (this.length >= this.#limits.frames || this.#bytes >= this.#limits.bytes) this.#pause();
    this.#wake?.();
  }

  /** Ends the stream. Frames that have already arrived are still returned. */
  end(error: IndexerError | undefined): void {
    this.#ended ??= { error };
    this.#wake?.();
  }

  stop(): void {
    this.#stopped = true;
    this.#frames = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#wake?.();
  }

  /**
   * Returns frames that have arrived. It returns at least one frame and at most the given numbers, but a single frame
   * may exceed `bytes`. The result is empty if the stream ended cleanly or `stop` was called.
   * @throws the error that ended the stream
   */
  async take(frames: number, bytes: number): Promise<readonly F[]> {
    while (this.length === 0) {
      if (this.#stopped) return [];
      if (this.#ended?.error !== undefined) throw this.#ended.error;
      if (this.#ended !== undefined) return [];
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    return this.#cut(frames, bytes);
  }

  #cut(maxFrames: number, maxBytes: number): readonly F[] {
    const takenFrames: F[] = [];
    let takenBytes = 0;
    while (this.length > 0 && takenFrames.length < maxFrames) {
      const next = this.#frames[this.#head];
      if (next === undefined || (takenFrames.length > 0 && takenBytes + next.bytes > maxBytes)) break;
      takenFrames.push(next.frame);
      takenBytes += next.bytes;
      this.#head += 1;
    }
    this.#bytes -= takenBytes;
    // Removes the taken frames from the array immediately, because copying the remaining frames costs less than keeping
    // them in memory.
    this.#frames = this.#frames.slice(this.#head);
    this.#head = 0;
    if (this.length <= this.#limits.frames / 2 && this.#bytes <= this.#limits.bytes / 2) this.#resume();
    return takenFrames;
  }

  #pause(): void {
    if (this.#pausedAt !== undefined) return;
    this.#pausedAt = performance.now();
    this.#valve.pause();
  }

  #resume(): void {
    if (this.#pausedAt === undefined) return;
    this.#valve.paused((performance.now() - this.#pausedAt) / 1000);
    this.#pausedAt = undefined;
    this.#valve.resume();
  }
}
