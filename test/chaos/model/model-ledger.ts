/**
 * A simulated participant with real HTTP and WebSocket on loopback, for the calls that the indexer makes. It serves the
 * visible part of a history, and fails once for each armed fault.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { endAfter, type History } from '../history/history.ts';
import { ledgerErrors, type LedgerErrorFrame } from './ledger-errors.ts';
import { entriesAt, entryFrame, indexOf, listResponse, type ListRequest } from './model-list.ts';
import { isAfter, framesBetween, readBody, type StreamRequest } from './ledger-requests.ts';
import { pause } from '../../support/wait-for.ts';

export const modelParticipant = 'chaos::1220c4a05';

export type StreamName = 'updates' | 'acs';

/** A stream that is about to send a frame. */
export interface StreamMoment {
  readonly ledger: ModelLedger;
  readonly socket: WebSocket;
  /** The frame that is about to be sent. */
  readonly frame: string;
  /** Frames that this stream has already sent, oldest first. */
  readonly sent: readonly string[];
  /** Index of the history item, or of the active-contracts entry. */
  readonly index: number;
}

/** The effect on the stream: `go` sends the frame, `over` ends the stream. */
export type StreamOutcome = 'go' | 'over';

/** A fault that happens once. */
export type LedgerFault =
  | {
      readonly at: StreamName;
      /** Number of frames of such streams before the fault. */
      readonly after: number;
      readonly act: (streamPhase: StreamMoment) => StreamOutcome | Promise<StreamOutcome>;
    }
  /** A fault of a stream that has an end offset. */
  | { readonly at: 'bounded'; readonly act: (socket: WebSocket) => StreamOutcome }
  | {
      readonly at: 'request';
      readonly path: string;
      readonly act: (response: ServerResponse, ledger: ModelLedger) => Promise<'go' | 'over'>;
    }
  | { readonly at: 'upgrade'; readonly act: (socket: Duplex) => void };

interface ArmedFault {
  readonly fault: LedgerFault;
  left: number;
  readonly fired: () => void;
}

export class ModelLedger implements AsyncDisposable {
  readonly history: History;
  readonly port: number;
  pruned = 0;
  /** Whether active-contracts entries have continuation tokens. */
  tokens = true;
  /** Maximum number of entries of an active-contracts list over HTTP. */
  listLimit = 200;
  participantId = modelParticipant;
  version = '3.5.10';
  /** Called when an update stream is opened. */
  onFollow: () => void = () => undefined;
  /** Delay before every frame, in milliseconds. */
  frameDelayMs = 0;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  #visible: number;
  #armed: ArmedFault[] = [];
  readonly #waiting = new Set<() => void>();
  #closed = false;

  private constructor(history: History, visibleCount: number, server: Server) {
    this.history = history;
    this.#visible = visibleCount;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      handleProtocols: () => 'daml.ws.auth',
    });
    server.on('request', (request, response) => void this.#answer(request, response));
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Starts a ledger on which the first `visible` items are visible. `grow` makes more items visible. */
  static async start(history: History, visibleCount: number): Promise<ModelLedger> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new ModelLedger(history, visibleCount, server);
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** The ledger end: the offset of the newest visible item, or a later one. */
  get end(): number {
    return endAfter(this.history, this.#visible);
  }

  get visible(): number {
    return this.#visible;
  }

  /** Makes the first `count` items visible. Never hides items. */
  grow(count: number): void {
    this.#visible = Math.min(this.history.items.length, Math.max(this.#visible, count));
    this.#wake();
  }

  /** Arms a fault, which happens once, at the first opportunity. Resolves when it has happened. */
  arm(fault: LedgerFault): Promise<void> {
    return new Promise((resolve) => {
      this.#armed.push({ fault, left: 'after' in fault ? fault.after : 0, fired: resolve });
    });
  }

  /** Cancels the armed faults that have not happened. */
  disarm(): void {
    this.#armed = [];
    this.frameDelayMs = 0;
  }

  /** Ends the open streams with a close frame. */
  closeStreams(code: number): void {
    for (const socket of this.#sockets.clients) socket.close(code);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#wake();
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #take(match: (armedFault: ArmedFault) => boolean): LedgerFault | undefined {
    const matchedFault = this.#armed.find(match);
    if (matchedFault === undefined) return undefined;
    this.#armed = this.#armed.filter((candidate) => candidate !== matchedFault);
    matchedFault.fired();
    return matchedFault.fault;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const body = await readBody(request).catch(() => undefined);
    if (body === undefined) return;
    const fault = this.#take(({ fault }) => fault.at === 'request' && path.startsWith(fault.path));
    if (fault?.at === 'request' && (await fault.act(response, this)) === 'over') return;
    const [status, responseText] = this.#resource(path, body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(responseText);
  }

  #resource(path: string, body: string): readonly [number, string] {
    switch (path.replace(/\?.*/, '')) {
      case '/v2/parties/participant-id':
        return [200, JSON.stringify({ participantId: this.participantId })];
      case '/v2/state/ledger-end':
        return [200, JSON.stringify({ offset: this.end })];
      case '/v2/state/latest-pruned-offsets':
        return [
          200,
          JSON.stringify({
            participantPrunedUpToInclusive: this.pruned,
            allDivulgedContractsPrunedUpToInclusive: this.pruned,
          }),
        ];
      case '/v2/state/connected-synchronizers':
        return [200, '{"connectedSynchronizers":[]}'];
      case '/v2/version':
        return [200, JSON.stringify({ version: this.version, features: {} })];
      case '/v2/packages':
        return [200, '{"packageIds":[]}'];
      case '/v2/state/active-contracts':
        return listResponse(this, JSON.parse(body) as ListRequest, Number(/limit=(\d+)/.exec(path)?.[1] ?? Infinity));
      case '/v2/updates':
        return [200, `[${this.#between(JSON.parse(body) as StreamRequest).join()}]`];
      case '/v2/updates/update-by-offset':
        return this.#updateAt((JSON.parse(body) as { offset: number }).offset);
      default:
        return [404, JSON.stringify(ledgerErrors.notFound)];
    }
  }

  #updateAt(offset: number): readonly [number, string] {
    const item = this.history.items.find(
      (candidateItem) => candidateItem.offset === offset && candidateItem.kind !== 'checkpoint',
    );
    if (item === undefined || offset > this.end) return [404, JSON.stringify(ledgerErrors.updateNotFound)];
    return [200, item.frame];
  }

  #between(request: StreamRequest): readonly string[] {
    return framesBetween(this.history.items.slice(0, this.#visible), request);
  }

  #bounded(socket: WebSocket, request: StreamRequest): void {
    const fault = this.#take(({ fault }) => fault.at === 'bounded');
    if (fault?.at === 'bounded' && fault.act(socket) === 'over') return;
    for (const frame of this.#between(request)) socket.send(frame);
    socket.close(1000);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    const fault = this.#take(({ fault }) => fault.at === 'upgrade');
    if (fault?.at === 'upgrade') {
      fault.act(socket);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (stream) => {
      stream.on('error', () => undefined);
      stream.once('message', (data: Buffer) => {
        const streamRequest = JSON.parse(data.toString()) as StreamRequest;
        const whenServed =
          request.url === '/v2/updates' ? this.#follow(stream, streamRequest) : this.#entries(stream, streamRequest);
        whenServed.catch((error: unknown) => {
          stream.close(1011, String(error).slice(0, 100));
        });
      });
    });
  }

  /** Whether the frame may be sent. */
  async #passes(streamName: StreamName, streamPhase: StreamMoment): Promise<boolean> {
    if (this.frameDelayMs > 0) await pause(this.frameDelayMs);
    for (const armedFault of this.#armed) if (armedFault.fault.at === streamName) armedFault.left -= 1;
    const fault = this.#take(({ fault, left: remainingItems }) => fault.at === streamName && remainingItems < 0);
    if (fault?.at !== streamName) return true;
    return (await fault.act(streamPhase)) === 'go';
  }

  async #follow(socket: WebSocket, request: StreamRequest): Promise<void> {
    const { beginExclusive = 0, endInclusive } = request;
    const highestOffset = Math.max(beginExclusive, endInclusive ?? 0);
    if (beginExclusive < this.pruned) return refuse(socket, ledgerErrors.pruned(this.pruned));
    if (highestOffset > this.end) return refuse(socket, ledgerErrors.afterEnd(highestOffset, this.end));
    if (endInclusive !== undefined) {
      this.#bounded(socket, request);
      return;
    }
    this.onFollow();
    const { items } = this.history;
    const sentFrames: string[] = [];
    let index = items.findIndex((item) => isAfter(item, beginExclusive));
    if (index === -1) index = items.length;
    while (socket.readyState === socket.OPEN && !this.#closed) {
      const item = items[index];
      if (item === undefined || index >= this.#visible) {
        await this.#grown(socket);
        continue;
      }
      if (!(await this.#passes('updates', { ledger: this, socket, frame: item.frame, sent: sentFrames, index })))
        return;
      socket.send(item.frame);
      sentFrames.push(item.frame);
      index += 1;
      if (index % 4 === 0) await nextTurn();
    }
  }

  #grown(socket: WebSocket): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      socket.once('close', () => {
        resolve();
        this.#waiting.delete(resolve);
      });
    });
  }

  async #entries(socket: WebSocket, request: StreamRequest): Promise<void> {
    const { activeAtOffset = 0, streamContinuationToken } = request;
    if (activeAtOffset < this.pruned) return refuse(socket, ledgerErrors.pruned(this.pruned));
    const entries = entriesAt(this.history, this.version, request);
    const sentFrames: string[] = [];
    let index = indexOf(streamContinuationToken);
    for (const activeContract of entries.slice(index)) {
      const frame = entryFrame(activeContract, index, this.tokens);
      if (!(await this.#passes('acs', { ledger: this, socket, frame, sent: sentFrames, index }))) return;
      if (socket.readyState !== socket.OPEN) return;
      socket.send(frame);
      sentFrames.push(frame);
      index += 1;
      if (index % 4 === 0) await nextTurn();
    }
    socket.close(1000);
  }
}

/** Sends an error as a frame, then closes normally, as participants do. */
export function refuse(socket: WebSocket, error: LedgerErrorFrame): void {
  socket.send(JSON.stringify(error));
  socket.close(1000);
}
