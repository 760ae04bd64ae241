/** A proxy between an indexer and its ledger that changes the responses of the ledger. */
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';

/** Changes that the proxy makes. By default it makes none. */
export interface Edits {
  /** Returns the frames to send instead of one frame of `/v2/updates`. */
  readonly frame?: (text: string) => readonly (string | Buffer)[];
  /** Responds to a request in place of the ledger; returns false to let the ledger respond. */
  readonly answer?: (path: string, response: ServerResponse) => boolean;
  /** Takes over the socket of an upgrade instead of opening a WebSocket; returns false to open it. */
  readonly upgrade?: (path: string, socket: Duplex) => boolean;
}

/** Limit of bytes that wait to be sent to the indexer. Frames beyond it are dropped. */
const mostUnsent = 64 * 1024 * 1024;

export class HostileLedger implements AsyncDisposable {
  edits: Edits = {};
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
      this.#sockets.handleUpgrade(request, socket, head, (inner) => {
        inner.once('message', (text: Buffer) => this.#relay(url, inner, text.toString()));
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
    const outer = forward(`${this.#target}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outer.on('error', () => response.destroy());
    request.pipe(outer);
  }

  #relay(path: string, inner: WebSocket, requestText: string): void {
    const outer = new WebSocket(`${this.#target.replace('http', 'ws')}${path}`, ['daml.ws.auth']);
    outer.on('open', () => outer.send(requestText));
    outer.on('message', (frame: Buffer) => {
      // Drop frames while the indexer does not read, so that they do not fill the memory of this process.
      if (inner.readyState !== inner.OPEN || inner.bufferedAmount > mostUnsent) return;
      const text = frame.toString();
      const edit = path.startsWith('/v2/updates') ? this.edits.frame : undefined;
      for (const each of edit?.(text) ?? [text]) inner.send(each);
    });
    outer.on('close', () => inner.close(1000));
    inner.on('close', () => outer.terminate());
    for (const socket of [inner, outer]) socket.on('error', () => undefined);
  }
}
