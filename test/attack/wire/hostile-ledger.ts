/** A proxy between an indexer and its ledger that changes the responses of the ledger. */
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';

/** Changes that the proxy makes. By default it makes none. */
export interface FrameEdits {
  /** Returns the frames to send instead of one frame of `/v2/updates`. */
  readonly frame?: (text: string) => readonly (string | Buffer)[];
  /** Responds to a request in place of the ledger; returns false to let the ledger respond. */
  readonly answer?: (path: string, response: ServerResponse) => boolean;
  /** Takes over the socket of an upgrade instead of opening a WebSocket; returns false to open it. */
  readonly upgrade?: (path: string, socket: Duplex) => boolean;
}

/** Limit of bytes that wait to be sent to the indexer. Frames beyond it are dropped. */
const maxUnsentBytes = 64 * 1024 * 1024;

export class HostileLedger implements AsyncDisposable {
  edits: FrameEdits = {};
  readonly #target: string;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: () => 'daml.ws.auth',
  });

  private constructor(target: string, server: Server) {
    [this.#target, this.#server] = [target, server];
    server.on('request', (request, response) => this.#pass(request, response));
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined);
      const { url = '' } = request;
      if (this.edits.upgrade?.(url, socket) === true) return;
      this.#sockets.handleUpgrade(request, socket, head, (innerSocket) => {
        innerSocket.once('message', (text: Buffer) => this.#relay(url, innerSocket, text.toString()));
      });
    });
  }

  static async before(target: string): Promise<HostileLedger> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new HostileLedger(target, server);
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = '/' } = request;
    response.on('error', () => undefined);
    if (this.edits.answer?.(url, response) === true) return;
    const upstreamRequest = forward(`${this.#target}${url}`, { method, headers }, (upstream) => {
      response.writeHead(upstream.statusCode ?? 502, upstream.headers);
      upstream.pipe(response);
    });
    upstreamRequest.on('error', () => response.destroy());
    request.pipe(upstreamRequest);
  }

  #relay(path: string, innerSocket: WebSocket, requestText: string): void {
    const upstreamSocket = new WebSocket(`${this.#target.replace('http', 'ws')}${path}`, ['daml.ws.auth']);
    upstreamSocket.on('open', () => upstreamSocket.send(requestText));
    upstreamSocket.on('message', (frame: Buffer) => {
      // Drop frames while the indexer does not read, so that they do not fill the memory of this process.
      if (innerSocket.readyState !== innerSocket.OPEN || innerSocket.bufferedAmount > maxUnsentBytes) return;
      const text = frame.toString();
      const edit = path.startsWith('/v2/updates') ? this.edits.frame : undefined;
      for (const frameText of edit?.(text) ?? [text]) innerSocket.send(frameText);
    });
    upstreamSocket.on('close', () => innerSocket.close(1000));
    innerSocket.on('close', () => upstreamSocket.terminate());
    for (const socket of [innerSocket, upstreamSocket]) socket.on('error', () => undefined);
  }
}
