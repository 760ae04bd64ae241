/**
 * One accepted socket: sends frames, applies the scripted faults, and waits whenever the receiver is slower than the
 * ledger. After the close every method is a no-op, so the streams above need no case for it.
 */
import type { WebSocket } from 'ws';
import type { Faults } from './faults.ts';
import type { LedgerFailure } from './failure.ts';
import type { Random } from './random.ts';

/** Bytes that may wait in the process for a slow receiver. */
const highWater = 256 * 1024;

export class Connection {
  readonly #socket: WebSocket;
  readonly #faults: Faults;
  readonly #cutAfter: number;
  #frames = 0;
  #open = true;
  readonly #closing: (() => void)[] = [];

  constructor(socket: WebSocket, faults: Faults, random: Random) {
    this.#socket = socket;
    this.#faults = faults;
    const cut = faults.cutEveryFrames;
    this.#cutAfter = cut === undefined ? Infinity : random.between(cut.min, cut.max);
    socket.once('close', () => {
      this.#open = false;
      for (const wake of this.#closing.splice(0)) wake();
    });
    // A peer that vanishes or breaks the protocol ends in `close`; there is nothing else to do about it.
    socket.on('error', () => undefined);
  }

  get open(): boolean {
    return this.#open && this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends one text frame and resolves when the next one may follow. */
  async send(text: string): Promise<void> {
    await this.#misbehave();
    if (!this.open) return;
    this.#frames += 1;
    const cut = this.#frames >= this.#cutAfter;
    if (!cut && this.#socket.bufferedAmount < highWater) {
      this.#socket.send(text);
      return;
    }
    await this.#untilClosed((done) => this.#socket.send(text, done));
    if (cut) this.#socket.terminate();
  }

  /** Sends the refusal as a frame and closes normally, as the participant does. */
  async refuse(refusal: LedgerFailure): Promise<void> {
    await this.send(JSON.stringify(refusal.body));
    this.finish();
  }

  /** The normal end of a stream: close code 1000, no reason. */
  finish(code = 1000): void {
    if (this.open) this.#socket.close(code);
  }

  /** Resolves after the milliseconds, when `wake` is called, or when the socket closes. */
  async wait(milliseconds: number, subscribe: (wake: () => void) => () => void = () => () => undefined): Promise<void> {
    if (!this.open) return;
    let stop = (): void => undefined;
    await this.#untilClosed((done) => {
      const timer = setTimeout(done, Math.max(0, milliseconds));
      const unsubscribe = subscribe(done);
      stop = () => {
        clearTimeout(timer);
        unsubscribe();
      };
    });
    stop();
  }

  async #misbehave(): Promise<void> {
    while (this.open && this.#stalled()) await this.wait(20);
    const { errorFrameOnce: error, closeWith1011Once: crash } = this.#faults;
    if (this.open && error !== undefined && this.#frames >= (error.afterFrames ?? 0)) {
      this.#faults.errorFrameOnce = undefined;
      this.#socket.send(JSON.stringify(error.body));
      this.finish();
    }
    if (this.open && crash !== undefined && this.#frames >= crash.afterFrames) {
      this.#faults.closeWith1011Once = undefined;
      this.finish(1011);
    }
  }

  #stalled(): boolean {
    const { stall, neverAnswer } = this.#faults;
    return neverAnswer === true || (stall !== undefined && this.#frames >= stall.afterFrames);
  }

  async #untilClosed(start: (done: () => void) => void): Promise<void> {
    let wake = (): void => undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      this.#closing.push(resolve);
      start(() => resolve());
    });
    const at = this.#closing.indexOf(wake);
    if (at >= 0) this.#closing.splice(at, 1);
  }
}
