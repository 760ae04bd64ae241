/**
 * The bounded hand-over between a socket that pushes and a writer that pulls. It pauses the socket when it is full and
 * resumes it when half of it is free; it never drops a frame while running. Pure but for the clock it is given.
 */
import type { IndexerError } from '../errors.ts';

export interface InboxLimits {
  readonly frames: number;
  readonly bytes: number;
}

export interface InboxValve {
  pause(): void;
  resume(): void;
  /** The socket was paused for so long, seconds. */
  paused(seconds: number): void;
}

interface Frame {
  readonly text: string;
  readonly bytes: number;
}

export class Inbox {
  readonly #limits: InboxLimits;
  readonly #valve: InboxValve;
  #frames: Frame[] = [];
  #head = 0;
  #bytes = 0;
  #pausedAt: number | undefined;
  #ended: { readonly error: IndexerError | undefined } | undefined;
  #stopped = false;
  #wake: (() => void) | undefined;

  constructor(limits: InboxLimits, valve: InboxValve) {
    this.#limits = limits;
    this.#valve = valve;
  }

  get length(): number {
    return this.#frames.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** True after `stop`: what was queued is gone and will be read again from the checkpoint, now or by the next process. */
  get stopped(): boolean {
    return this.#stopped;
  }

  push(text: string, bytes: number): void {
    if (this.#stopped) return;
    this.#frames.push({ text, bytes });
    this.#bytes += bytes;
    if (this.length >= this.#limits.frames || this.#bytes >= this.#limits.bytes) this.#pause();
    this.#wake?.();
  }

  /** The stream is over; frames already here are still handed out. */
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
   * What has arrived, at least one frame and at most the given amounts (a single frame may exceed the bytes).
   * Empty when the stream ended cleanly or `stop` was called. @throws the error the stream ended with
   */
  async take(frames: number, bytes: number): Promise<readonly string[]> {
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

  #cut(maxFrames: number, maxBytes: number): readonly string[] {
    const texts: string[] = [];
    let taken = 0;
    while (this.length > 0 && texts.length < maxFrames) {
      const frame = this.#frames[this.#head];
      if (frame === undefined || (texts.length > 0 && taken + frame.bytes > maxBytes)) break;
      texts.push(frame.text);
      taken += frame.bytes;
      this.#head += 1;
    }
    this.#bytes -= taken;
    // Taken frames are let go at once; copying the rest costs less than it frees.
    this.#frames = this.#frames.slice(this.#head);
    this.#head = 0;
    if (this.length <= this.#limits.frames / 2 && this.#bytes <= this.#limits.bytes / 2) this.#resume();
    return texts;
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
