/**
 * A ledger that checks tokens and rights as participants do. It checks them on every HTTP request. For a stream, it
 * checks them when the stream is opened and when an element is due, so that a stream with an expired token stays open
 * and idle until then.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { text as bodyText } from 'node:stream/consumers';
import { WebSocketServer, type WebSocket } from 'ws';
import { validUpdates } from './scripted-ledger.ts';

/** A rejection as participants send it, without the reason. */
const redactedBody = (grpcCodeValue: number): string =>
  JSON.stringify({
    code: 'NA',
    cause: 'A security-sensitive error has been received',
    correlationId: null,
    traceId: '8f0c2b1d',
    context: {},
    resources: [],
    errorCategory: -1,
    grpcCodeValue,
    retryInfo: null,
    definiteAnswer: null,
  });
const expiredBody = JSON.stringify({
  code: 'ACCESS_TOKEN_EXPIRED',
  cause: 'ACCESS_TOKEN_EXPIRED(2,8f0c2b1d): JWT token has expired',
  context: {},
  resources: [],
  errorCategory: 2,
  grpcCodeValue: 10,
});

interface LedgerRequest {
  readonly path: string;
  /** Monotonic time in milliseconds. */
  readonly atMs: number;
}

interface RefusedRequest {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly of: 'requests' | 'handshakes';
}

interface FollowedStream {
  readonly socket: WebSocket;
  readonly token: string;
}

export class GuardedLedger implements AsyncDisposable {
  /** Tokens that are accepted. */
  readonly accepted = new Set<string>();
  /** Whether the user may read the requested contracts. */
  rights = true;
  /** If set, the response to all requests or handshakes. */
  refusal: RefusedRequest | undefined;
  /** Handlers by path that respond in place of the ledger. */
  readonly instead = new Map<string, (response: ServerResponse) => void>();
  /** Whether every connection is reset before anything is read from it. */
  away = false;
  /** The requests and handshakes so far. */
  readonly requests: LedgerRequest[] = [];
  /** Monotonic times, in milliseconds, at which connections were accepted. */
  readonly connected: number[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'daml.ws.auth' });
  readonly #open = new Set<Socket>();
  #following: FollowedStream[] = [];
  #end = 3;

  static async start(...tokens: readonly string[]): Promise<GuardedLedger> {
    const ledger = new GuardedLedger();
    for (const token of tokens) ledger.accepted.add(token);
    ledger.#server.on('connection', (socket) => {
      ledger.connected.push(performance.now());
      ledger.#open.add(socket);
      socket.on('error', () => undefined);
      if (ledger.away) socket.resetAndDestroy();
    });
    ledger.#server.on('upgrade', (request, socket: Socket, head) => ledger.#upgrade(request, socket, head));
    ledger.#server.listen(0, '127.0.0.1');
    await once(ledger.#server, 'listening');
    return ledger;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Tokens of the open streams. */
  get following(): readonly string[] {
    return this.#following.map(({ token }) => token);
  }

  /** How often this path was requested. */
  count(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }

  /** Sends an update to all streams with a valid token, and an error to the others. */
  grow(): number {
    this.#end += 1;
    for (const { socket, token } of this.#following) {
      if (this.accepted.has(token)) socket.send(JSON.stringify(validUpdates[this.#end - 1]));
      else this.#refuse(socket, expiredBody);
    }
    return this.#end;
  }

  /** Resets all connections. */
  cut(): void {
    for (const socket of this.#open) socket.resetAndDestroy();
    this.#open.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?');
    this.requests.push({ path, atMs: performance.now() });
    const body = await bodyText(request);
    if (this.refusal?.of === 'requests') {
      response.writeHead(this.refusal.status, this.refusal.headers).end();
      return;
    }
    const override = this.instead.get(path);
    if (override !== undefined) return override(response);
    if (!this.accepted.has(tokenOf(request))) return writeResponse(response, 401, redactedBody(16));
    const responsesByUrl: Record<string, object> = {
      '/v2/version': { version: '3.5.10' },
      '/v2/parties/participant-id': { participantId: 'p::1220' },
      '/v2/state/ledger-end': { offset: this.#end },
      '/v2/state/latest-pruned-offsets': { participantPrunedUpToInclusive: 0 },
      '/v2/updates/update-by-offset': validUpdates[Number(/"offset":(\d+)/.exec(body)?.[1]) - 1] ?? {},
      '/v2/updates': [],
    };
    const scripted = responsesByUrl[path];
    if (scripted === undefined) return writeResponse(response, 404, '{}');
    if (path.startsWith('/v2/updates') && !this.rights) return writeResponse(response, 403, redactedBody(7));
    writeResponse(response, 200, JSON.stringify(scripted));
  }

  #upgrade(request: IncomingMessage, raw: Socket, head: Buffer): void {
    this.requests.push({ path: 'upgrade', atMs: performance.now() });
    if (this.refusal?.of === 'handshakes') {
      const headers = Object.entries(this.refusal.headers).map(([name, value]) => `${name}: ${value}\r\n`);
      raw.end(
        `HTTP/1.1 ${this.refusal.status} Later\r\n${headers.join('')}content-length: 0\r\nconnection: close\r\n\r\n`,
      );
      return;
    }
    const token = tokenOf(request);
    this.#sockets.handleUpgrade(request, raw, head, (socket) => {
      socket.on('error', () => undefined);
      socket.once('message', (data) => this.#follow(socket, token, (data as Buffer).toString('utf8')));
    });
  }

  #follow(socket: WebSocket, token: string, request: string): void {
    if (!this.accepted.has(token)) return this.#refuse(socket, redactedBody(16));
    if (!this.rights) return this.#refuse(socket, redactedBody(7));
    const beginOffset = Number(/"beginExclusive":(\d+)/.exec(request)?.[1]);
    for (const update of validUpdates.slice(beginOffset, this.#end)) socket.send(JSON.stringify(update));
    this.#following.push({ socket, token });
    socket.once('close', () => {
      this.#following = this.#following.filter((stream) => stream.socket !== socket);
    });
  }

  #refuse(socket: WebSocket, body: string): void {
    socket.send(body);
    socket.close(1000);
  }
}

function tokenOf({ headers }: IncomingMessage): string {
  return headers.authorization?.replace('Bearer ', '') ?? '';
}

function writeResponse(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}
