/**
 * One WebSocket stream of the participant. It connects, sends the one request, delivers each frame as bytes, and
 * reports exactly once how it ended. It keeps the connection alive with its own pings, detects a dead peer, and never
 * mistakes a stream that was paused here for a dead one. It does not reconnect; its caller decides from the checkpoint.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type ClientOptions, type RawData, WebSocket } from 'ws';
import { type IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { readChunks } from '../../http/exchange.ts';
import { limitInformational } from '../../http/informational.ts';
import { socketEndpoint } from './endpoint-url.ts';
import { errorFromBody, errorFromClose, errorFromNetwork } from '../errors/ledger-error.ts';
import { isErrorFrame } from '../errors/ledger-error-body.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';
import { errorFromHandshake, withTokenFlaws } from './refusal.ts';
import type { TlsMaterial } from './tls.ts';

const closeGraceMs = 1000;
const defaultHandshakeTimeoutMs = 10_000;
const defaultMaxPayloadBytes = 256 * 1024 * 1024;
const missedPongsUntilDead = 2;

export type StreamPath =
  | '/v2/updates'
  | '/v2/updates/flats'
  | '/v2/updates/trees'
  | '/v2/state/active-contracts'
  | '/v2/commands/completions'
  | '/v2/commands/command-completions';

export interface FrameStreamOptions {
  /** Base URL, http or https, possibly with a path prefix. */
  readonly url: string;
  readonly path: StreamPath;
  /** Sent as the first and only frame. */
  readonly request: object;
  readonly token: string | undefined;
  /** Default `both`. */
  readonly tokenPlacement?: TokenPlacement | undefined;
  /** Only for https. */
  readonly tls?: TlsMaterial | undefined;
  readonly pingIntervalMs: number;
  /** Size limit of a frame; default 256 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /**
   * Limit on silence during the handshake, and on the total time of a response that refuses the handshake; default 10
   * s.
   */
  readonly handshakeTimeoutMs?: number | undefined;
  /** One frame of data, UTF-8; the receiver may keep its bytes. */
  onFrame(frame: Buffer): void;
  /**
   * Called exactly once. Undefined only if the stream was closed with code 1000 and without an error frame. A complete
   * list or range ends like this, but so does a stream that a gateway closes. A stream closed by this side ends with
   * LEDGER_STREAM_CLOSED and `facts.closedBy = 'us'`, so that it cannot be mistaken for a complete one.
   */
  onEnd(error: IndexerError | undefined): void;
  /** Called when the handshake is done and the request is sent. */
  onOpen?(): void;
  /** Aborting is the same as `close()`. */
  readonly signal?: AbortSignal | undefined;
}

export interface FrameStream {
  /**
   * Stops reading. Frames that already arrived in this process (at most one chunk of 64 KiB) may still be delivered.
   */
  pause(): void;
  resume(): void;
  /**
   * Ends the stream. No frame is delivered after this, and `onEnd` is called within a second. Harmless if the stream
   * has ended.
   */
  close(): void;
}

/**
 * How data frames begin on each path. They are recognized by that, because parsing twice would halve the throughput.
 */
const dataBeginnings: Readonly<Record<StreamPath, string>> = {
  '/v2/updates': '{"update"',
  '/v2/updates/flats': '{"update"',
  '/v2/updates/trees': '{"update"',
  '/v2/state/active-contracts': '{"workflowId"',
  '/v2/commands/completions': '{"completionResponse"',
  '/v2/commands/command-completions': '{"completionResponse"',
};

function isDataFrame(path: StreamPath, frame: Buffer): boolean {
  if (frame.toString('latin1', 0, 24).startsWith(dataBeginnings[path])) return true;
  return path === '/v2/state/active-contracts' && frame.toString('latin1', 0, 256).includes('"contractEntry"');
}

/** The error in a frame; undefined if it is data, or if the decoder has to decide. */
function errorInFrame(path: StreamPath, frame: Buffer): IndexerError | undefined {
  if (isDataFrame(path, frame)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(frame.toString());
  } catch {
    return ledgerError('LEDGER_UNDECODABLE', `a frame of ${path} is not JSON`, { retry: 'retry' });
  }
  return isErrorFrame(parsed) ? errorFromBody(parsed) : undefined;
}

/** How long a peer that has closed a stream may leave its connection open. Our stream has ended by then. */
const closeOptions: ClientOptions & { readonly closeTimeout: number } = { closeTimeout: closeGraceMs };

function openSocket(options: FrameStreamOptions): WebSocket {
  const secure = options.url.startsWith('https:');
  return new WebSocket(socketEndpoint(options.url, options.path), subprotocols(options), {
    headers: handshakeHeaders(options),
    // Compression costs more time than a local network saves, and lets a small message inflate to a huge one.
    perMessageDeflate: false,
    maxPayload: options.maxPayloadBytes ?? defaultMaxPayloadBytes,
    handshakeTimeout: options.handshakeTimeoutMs ?? defaultHandshakeTimeoutMs,
    ...closeOptions,
    finishRequest: (request) => {
      limitInformational(request);
      request.end();
    },
    ...(secure ? options.tls : {}),
  });
}

class SocketStream implements FrameStream {
  readonly #options: FrameStreamOptions;
  readonly #socket: WebSocket;
  #transport: Socket | undefined;
  #bytesSeen = 0;
  #missedPongs = 0;
  #paused = false;
  #closing = false;
  #ended = false;
  #pings: NodeJS.Timeout | undefined;
  readonly #onAbort = (): void => {
    this.close();
  };

  constructor(options: FrameStreamOptions) {
    this.#options = options;
    this.#socket = openSocket(options);
    this.#listen();
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal?.aborted === true) this.close();
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    // One tick extra, so that the deadline is full again although the next tick may be near.
    this.#missedPongs = -1;
    this.#socket.resume();
  }

  close(): void {
    if (this.#ended || this.#closing) return;
    this.#closing = true;
    // The response to our close frame cannot be read while paused. Frames before it are dropped.
    this.#socket.resume();
    this.#shut();
  }

  /**
   * Closes the connection. An idle ledger may never respond to a close frame, so the connection is terminated after a
   * grace period.
   */
  #shut(): void {
    this.#socket.close(1000);
    setTimeout(() => {
      this.#socket.terminate();
    }, closeGraceMs).unref();
  }

  /**
   * Attaches all listeners in the tick of the constructor, because a server may send frames together with the
   * handshake.
   */
  #listen(): void {
    const socket = this.#socket;
    socket.on('upgrade', (response) => {
      this.#transport = response.socket;
    });
    socket.on('open', () => {
      this.#opened();
    });
    socket.on('message', (data, isBinary) => {
      this.#received(data, isBinary);
    });
    socket.on('unexpected-response', (_request, response) => {
      void this.#refused(response);
    });
    socket.on('error', (cause) => {
      this.#end(this.#closing ? this.#closedByUs() : errorFromNetwork(cause, this.#options.url));
    });
    socket.on('close', (code, reason) => {
      if (this.#closing) this.#end(this.#closedByUs());
      else if (code === 1000) this.#end(undefined);
      else this.#end(withTokenFlaws(errorFromClose(code, reason.toString('utf8')), this.#options.token));
    });
  }

  #opened(): void {
    if (this.#closing || this.#ended) return;
    this.#socket.send(JSON.stringify(this.#options.request));
    this.#pings = setInterval(() => {
      this.#tick();
    }, this.#options.pingIntervalMs);
    // Pausing has no effect before the connection is open, so an earlier pause is applied now.
    if (this.#paused) this.#socket.pause();
    this.#options.onOpen?.();
  }

  /**
   * Counts ticks, not time, because the ledger is not to blame when this process was suspended for a minute. Any byte
   * counts as a sign of life, so that a frame of many megabytes on a slow line does not look like silence.
   */
  #tick(): void {
    const bytes = this.#transport?.bytesRead ?? 0;
    if (this.#paused || bytes !== this.#bytesSeen) this.#missedPongs = 0;
    else this.#missedPongs += 1;
    this.#bytesSeen = bytes;
    if (this.#missedPongs >= missedPongsUntilDead) {
      const ms = missedPongsUntilDead * this.#options.pingIntervalMs;
      this.#end(
        ledgerError('LEDGER_PING_TIMEOUT', `the ledger sent nothing and did not respond to pings for ${ms} ms`),
      );
      this.#socket.terminate();
    } else if (this.#socket.readyState === WebSocket.OPEN) {
      // Also sent while paused: pings keep the ledger's own idle timer from closing the connection.
      this.#socket.ping();
    }
  }

  #received(data: RawData, isBinary: boolean): void {
    if (this.#ended || this.#closing) return;
    if (isBinary || !Buffer.isBuffer(data)) {
      this.#fail(ledgerError('LEDGER_UNDECODABLE', 'expected text frames, found a binary one', { retry: 'retry' }));
      return;
    }
    const error = errorInFrame(this.#options.path, data);
    if (error !== undefined) {
      this.#fail(withTokenFlaws(error, this.#options.token));
      return;
    }
    try {
      this.#options.onFrame(data);
    } catch (thrown) {
      this.#fail(toIndexerError(thrown));
    }
  }

  /** The ledger responded to the handshake with an ordinary HTTP response; its body contains the reason. */
  async #refused(response: IncomingMessage): Promise<void> {
    const { statusCode: status = 0, headers } = response;
    const { token, handshakeTimeoutMs = defaultHandshakeTimeoutMs } = this.#options;
    const body = await readRefusal(response, handshakeTimeoutMs);
    this.#end(this.#closing ? this.#closedByUs() : errorFromHandshake({ status, headers, body }, token));
    this.#socket.terminate();
  }

  #fail(error: IndexerError): void {
    this.#end(error);
    this.#shut();
  }

  #closedByUs(): IndexerError {
    return ledgerError('LEDGER_STREAM_CLOSED', 'the stream was closed by the indexer', { facts: { closedBy: 'us' } });
  }

  #end(error: IndexerError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#pings);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#options.onEnd(error);
  }
}

/**
 * Opens one stream. Never throws: even a token that cannot be sent is reported to `onEnd`. The caller has to check with
 * `assertTokenConfidential` that the token may be sent to this URL.
 */
export function openFrameStream(options: FrameStreamOptions): FrameStream {
  try {
    return new SocketStream(options);
  } catch (thrown) {
    const illegal = thrown instanceof SyntaxError && /subprotocol/u.test(thrown.message);
    const error = illegal
      ? // The message of the cause may quote the token, so it is dropped.
        ledgerError('LEDGER_TOKEN_MALFORMED', 'the token has characters that a subprotocol cannot carry')
      : errorFromNetwork(thrown, options.url);
    queueMicrotask(() => {
      options.onEnd(error);
    });
    return { pause: () => undefined, resume: () => undefined, close: () => undefined };
  }
}

// The body of a refused handshake: an error of the ledger as JSON, or the page of a proxy.

const refusalBytes = 64 * 1024;

/**
 * The part of the body that arrives in time, parsed if it is JSON. The time limit also applies to a server that sends
 * single bytes.
 */
async function readRefusal(response: IncomingMessage, limitMs: number): Promise<unknown> {
  const limit = setTimeout(response.destroy.bind(response), limitMs);
  const receivedChunks: Buffer[] = [];
  try {
    await readChunks(receivedChunks, response as AsyncIterable<Buffer>, refusalBytes);
  } catch {
    // If either side disconnected, the status and the bytes received so far have to explain the refusal.
  } finally {
    clearTimeout(limit);
  }
  const text = Buffer.concat(receivedChunks).toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Places of the token in the handshake of a WebSocket.

/**
 * Participants read the token from the header first, then from the subprotocols. Proxies sometimes drop one of them.
 */
export type TokenPlacement = 'header' | 'subprotocol' | 'both';

interface Handshake {
  readonly token: string | undefined;
  /** Default `both`. */
  readonly tokenPlacement?: TokenPlacement | undefined;
}

/**
 * The subprotocols to offer. The fixed names are always included, because the ledger always selects one of them. The
 * token comes first, because a server that does not trim the list finds it only there.
 */
function subprotocols({ token, tokenPlacement }: Handshake): string[] {
  const names = ['daml.ws.auth', 'ledger.ws.auth'];
  return token === undefined || tokenPlacement === 'header' ? names : [`jwt.token.${token}`, ...names];
}

/** The header with the token; empty if there is none. */
function handshakeHeaders({ token, tokenPlacement }: Handshake): Record<string, string> {
  return token === undefined || tokenPlacement === 'subprotocol' ? {} : { authorization: `Bearer ${token}` };
}
