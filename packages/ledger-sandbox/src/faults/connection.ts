/**
 * One accepted socket. It sends frames as its fault script specifies, and waits if the receiver is slower than the
 * ledger. After the close every method is a no-op, so the streams that use it need no special case.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { LedgerFailure } from '../wire/failure.ts';
import type { FrameScript, Output } from './fault-frames.ts';

/** Maximum number of bytes that wait in this process for a slow receiver. */
const highWater = 256 * 1024;

/** Milliseconds within which a receiver on this machine has read all written bytes. */
const readMs = 20;

/** A socket that can withhold its response to the peer's close frame. `end` is the sandbox's own close. */
export class AcceptedSocket extends WebSocket {
  answersClose: () => boolean = () => true;

  override close(code?: number, reason?: string | Buffer): void {
    if (this.answersClose()) super.close(code, reason);
  }

  end(code: number): void {
    super.close(code);
  }
}

/** Ends TCP with RST instead of FIN. */
export function resetNow(transport: Duplex): void {
  if (!(transport instanceof Socket)) transport.destroy();
  else if (!isShuttingDown(transport)) transport.resetAndDestroy();
  else transport.once('finish', () => transport.resetAndDestroy());
}

/**
 * Whether the socket is between `end()` and the FIN. In that state Node can neither reset a socket nor release it
 * afterwards, so its process would loop forever when it ends. The state is short, because no bytes are waiting any
 * more.
 */
function isShuttingDown({ writableEnded, writableFinished, writableLength, destroyed }: Socket): boolean {
  return writableEnded && !writableFinished && writableLength === 0 && !destroyed;
}

export class Connection {
  readonly #socket: AcceptedSocket;
  readonly #transport: Duplex;
  readonly #script: FrameScript;
  #frames = 0;
  #open = true;
  readonly #closing: (() => void)[] = [];

  /** @param transport the stream to which the socket writes */
  constructor(socket: AcceptedSocket, transport: Duplex, script: FrameScript) {
    this.#socket = socket;
    this.#transport = transport;
    this.#script = script;
    socket.answersClose = () => script.answersClose(this.#frames);
    socket.on('ping', (data) => {
      if (script.answersPings(this.#frames)) socket.pong(data);
    });
    socket.once('close', () => {
      this.#open = false;
      for (const wake of this.#closing.splice(0)) wake();
    });
    // A peer that disappears or breaks the protocol causes `close`, so no other handling is needed.
    socket.on('error', () => undefined);
  }

  get open(): boolean {
    return this.#open && this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends one text frame and resolves when the next one may follow. */
  async send(text: string): Promise<void> {
    await this.#held();
    if (!this.open) return;
    for (const output of this.#script.outputs(text, this.#frames)) await this.#put(output);
  }

  /** Sends the refusal as a frame and closes normally, as the participant does. */
  async refuse(refusal: LedgerFailure): Promise<void> {
    await this.send(JSON.stringify(refusal.body));
    this.finish();
  }

  /** The normal end of a stream: close code 1000, no reason. */
  finish(code = 1000): void {
    for (const text of this.#script.rest()) if (this.open) this.#socket.send(text);
    if (this.open) this.#socket.end(code);
  }

  /** Ends TCP without a close frame, as a stopping participant does. */
  cut(): void {
    this.#open = false;
    this.#socket.terminate();
  }

  /** Resolves after the time has passed, when `wake` is called, or when the socket closes. */
  async wait(milliseconds: number, subscribe: (wake: () => void) => () => void = () => () => undefined): Promise<void> {
    if (!this.open) return;
    let stop = (): void => undefined;
    await this.#untilClosed((callback) => {
      const timer = setTimeout(callback, Math.max(0, milliseconds));
      const unsubscribe = subscribe(callback);
      stop = () => {
        clearTimeout(timer);
        unsubscribe();
      };
    });
    stop();
  }

  /** Waits until no fault delays the next frame any more. */
  async #held(): Promise<void> {
    let releaseHold: (() => void) | undefined;
    for (let holdKind = this.#script.holds(this.#frames); this.open && holdKind !== undefined;) {
      if (holdKind === 'half-open') releaseHold ??= this.#freeze();
      await this.wait(20);
      holdKind = this.#script.holds(this.#frames);
    }
    releaseHold?.();
    const delay = this.#script.delayMs();
    if (delay > 0) await this.wait(delay);
  }

  /** Stops reading and all timeouts of the connection. @returns a function that ends this state */
  #freeze(): () => void {
    const transport = this.#transport;
    if (!(transport instanceof Socket)) return () => undefined;
    const idleTimeoutMs = transport.timeout ?? 0;
    transport.setTimeout(0);
    this.#socket.pause();
    return () => {
      transport.setTimeout(idleTimeoutMs);
      this.#socket.resume();
    };
  }

  async #put(output: Output): Promise<void> {
    if (!this.open) return;
    switch (output.do) {
      case 'close':
        this.#socket.end(output.code);
        return;
      case 'break-off':
        await this.#breakOff(output.bytes, output.reset);
        return;
      case 'send-bytes':
        this.#frames += 1;
        for (const [index, chunk] of output.parts.entries()) {
          this.#socket.send(chunk, { binary: output.binary, fin: index === output.parts.length - 1 });
        }
        return;
      case 'send':
        this.#frames += 1;
        if (this.#socket.bufferedAmount < highWater) this.#socket.send(output.text);
        else await this.#untilClosed((callback) => this.#socket.send(output.text, callback));
    }
  }

  /** Writes the bytes after everything sent so far, and ends TCP without a close frame. */
  async #breakOff(bytes: Buffer, reset: boolean): Promise<void> {
    const transport = this.#transport;
    await this.#untilClosed((callback) => transport.write(bytes, callback));
    // If bytes and RST arrive together, a reader may treat the RST as a FIN, or not receive the bytes.
    if (reset) await this.wait(readMs);
    if (!reset) return this.cut();
    this.#open = false;
    resetNow(transport);
  }

  async #untilClosed(start: (callback: () => void) => void): Promise<void> {
    let wake = (): void => undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      this.#closing.push(resolve);
      start(() => resolve());
    });
    const index = this.#closing.indexOf(wake);
    if (index >= 0) this.#closing.splice(index, 1);
  }
}
