/**
 * A gateway between an indexer and its participant. It forwards all data, and can close a stream early with a close
 * frame. It shares no code with the sandbox or the client.
 */
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

export const listPath = '/v2/state/active-contracts';

/** The next frame of a stream, before it is forwarded. */
export interface PassingFrame {
  readonly path: string;
  /** Number of frames forwarded earlier on this connection. */
  readonly frames: number;
  /** Total size of the frames on this connection so far, including this frame, in bytes. */
  readonly bytes: number;
  /** Number of streams on the same path that were opened before this one. */
  readonly opened: number;
}

export class CuttingGateway implements AsyncDisposable {
  /** Returns true if the gateway should end the stream instead of forwarding the frame. */
  cuts: (frame: PassingFrame) => boolean = () => false;
  /** Close code of an early close; 1006 for a close without a handshake. */
  code = 1000;
  /** Status with which the gateway responds to a POST of a list. If undefined, the participant responds. */
  listAnswer: number | undefined;
  /** Number of responses with that status so far. */
  refused = 0;
  /** Number of open streams to the ledger. */
  passing = 0;
  /** If false, the gateway removes the continuation tokens from entries, also over HTTP. */
  tokens = true;
  /** Requests that opened a list, in order of time. */
  readonly lists: { readonly activeAtOffset: number; readonly streamContinuationToken?: string }[] = [];
  readonly #target: string;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: () => 'daml.ws.auth',
  });
  readonly #opened = new Map<string, number>();

  private constructor(target: string, server: Server) {
    this.#target = target;
    this.#server = server;
    server.on('request', (request, response) => this.#pass(request, response));
    server.on('upgrade', (request, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (innerSocket) => {
        innerSocket.once('message', (text: Buffer) => this.#relay(request.url ?? '', innerSocket, text.toString()));
      });
    });
  }

  static async before(target: string): Promise<CuttingGateway> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new CuttingGateway(target, server);
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
    if (this.listAnswer !== undefined && request.url?.startsWith(listPath) === true) {
      this.refused += 1;
      response.writeHead(this.listAnswer).end();
      return;
    }
    const { method, headers, url = '/' } = request;
    const upstreamRequest = forward(`${this.#target}${url}`, { method, headers }, (upstream) => {
      const { 'content-length': _contentLength, ...otherHeaders } = upstream.headers;
      response.writeHead(upstream.statusCode ?? 502, otherHeaders);
      if (this.tokens) upstream.pipe(response);
      else void this.#stripped(upstream, response);
    });
    upstreamRequest.on('error', () => response.destroy());
    request.pipe(upstreamRequest);
  }

  #shown(text: string): string {
    return this.tokens ? text : text.replaceAll(/"streamContinuationToken":"[^"]*"/g, '"streamContinuationToken":""');
  }

  async #stripped(upstream: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of upstream as AsyncIterable<Buffer>) chunks.push(chunk);
    response.end(this.#shown(Buffer.concat(chunks).toString()));
  }

  #relay(path: string, innerSocket: WebSocket, request: string): void {
    const openedCount = this.#opened.get(path) ?? 0;
    this.#opened.set(path, openedCount + 1);
    if (path === listPath) this.lists.push(JSON.parse(request) as (typeof this.lists)[number]);
    const upstreamSocket = new WebSocket(`${this.#target.replace('http', 'ws')}${path}`, ['daml.ws.auth']);
    let frames = 0;
    let bytes = 0;
    upstreamSocket.on('open', () => upstreamSocket.send(request));
    upstreamSocket.on('message', (frame: Buffer) => {
      if (innerSocket.readyState !== innerSocket.OPEN) return;
      bytes += frame.length;
      if (this.cuts({ path, frames, bytes, opened: openedCount })) {
        if (this.code === 1006) innerSocket.terminate();
        else innerSocket.close(this.code);
        upstreamSocket.terminate();
        return;
      }
      frames += 1;
      innerSocket.send(this.#shown(frame.toString()));
    });
    this.passing += 1;
    upstreamSocket.on('close', (code) => {
      this.passing -= 1;
      if (code === 1006) innerSocket.terminate();
      else innerSocket.close(code);
    });
    for (const socket of [innerSocket, upstreamSocket]) socket.on('error', () => undefined);
    // Closes with a handshake, after which the ledger has closed the stream.
    innerSocket.on('close', () => upstreamSocket.close());
  }
}
