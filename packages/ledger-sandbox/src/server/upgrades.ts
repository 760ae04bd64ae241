/**
 * The WebSocket part of the interface: the handshake, which an invalid token does not fail, then one request frame,
 * then the stream of its path.
 */
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { RawData, Server, WebSocket } from 'ws';
import { offeredProtocols, tokenOf } from '../identity/authorization.ts';
import type { Authenticate } from '../identity/authorization.ts';
import { AcceptedSocket, Connection } from '../faults/connection.ts';
import { disabledIn } from '../api/endpoint.ts';
import type { StreamEndpoint } from '../api/endpoint.ts';
import { LedgerFailure, UndecodableRequest, unauthenticated } from '../wire/failure.ts';
import { FrameScript } from '../faults/fault-frames.ts';
import { headerRefusal } from '../wire/limits.ts';
import type { Participant } from '../api/participant.ts';
import type { Random } from '../wire/random.ts';
import { findRoute, routeNotFound } from './routes.ts';
import type { Route } from './routes.ts';

const plainText = 'text/plain; charset=UTF-8';

/**
 * The participant ignores the offered subprotocols. The documented alias is accepted only if the client offers no other
 * name.
 */
function subprotocol(offeredNames: readonly string[]): string {
  return offeredNames.includes('ledger.ws.auth') && !offeredNames.includes('daml.ws.auth')
    ? 'ledger.ws.auth'
    : 'daml.ws.auth';
}

/** @param compress whether permessage-deflate is accepted; the participant never does */
function createSockets(compress: boolean): Server<typeof AcceptedSocket> {
  const sockets = new WebSocketServer({
    noServer: true,
    WebSocket: AcceptedSocket,
    // The connection answers pings itself.
    autoPong: false,
    perMessageDeflate: compress,
    handleProtocols: (offeredNames) => subprotocol([...offeredNames]),
  });
  sockets.on('headers', (headers: string[], request: IncomingMessage) => {
    if (offeredProtocols(request).length === 0) headers.push('Sec-WebSocket-Protocol: daml.ws.auth');
  });
  return sockets;
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return (data instanceof ArrayBuffer ? Buffer.from(data) : data).toString();
}

/** Closes the TCP connection, without a close frame, after a time without data in both directions. */
function disconnectWhenIdle(socket: Duplex, idleTimeoutMs: number): void {
  if (socket instanceof Socket) socket.setTimeout(idleTimeoutMs, () => socket.destroy());
}

export interface UpgradeOptions {
  readonly participant: Participant;
  readonly authenticate: Authenticate;
  readonly routes: readonly Route<StreamEndpoint>[];
  /** Time without data in both directions after which a socket is closed, milliseconds. */
  readonly idleTimeoutMs: number;
  readonly random: Random;
}

/**
 * Fails a handshake with a real HTTP status; only for a user that cannot be resolved and for an unknown path. Further
 * bytes of the peer are read and dropped, so that its end is noticed and the connection closes.
 */
function refuseUpgrade(socket: Duplex, status: string, body: string, type = 'application/json'): void {
  const headers = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`);
  socket.resume();
}

/** Accepts sockets for the stream endpoints. */
export class Upgrades {
  readonly #plain = createSockets(false);
  readonly #compressing = createSockets(true);
  readonly #left = new Set<Duplex>();
  readonly #options: UpgradeOptions;

  constructor(options: UpgradeOptions) {
    this.#options = options;
  }

  /** Closes every socket and accepts no more. */
  close(): void {
    for (const sockets of [this.#plain, this.#compressing]) {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
    }
    for (const socket of this.#left) socket.destroy();
  }

  /** Takes over a socket that the HTTP server does not handle any more. */
  leave(socket: Duplex): void {
    this.#left.add(socket);
    // Required because no other code handles the socket: a peer that disconnects must not cause an uncaught error.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#left.delete(socket));
  }

  /** Serves one upgrade request. Rejects only on a bug of the sandbox. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { participant, authenticate, routes, random, idleTimeoutMs } = this.#options;
    this.leave(socket);
    disconnectWhenIdle(socket, idleTimeoutMs);
    const refusal = headerRefusal(request);
    if (refusal !== undefined) return refuseUpgrade(socket, `${refusal.status} Refused`, refusal.content, plainText);
    const url = request.url ?? '/';
    const match = findRoute(routes, 'GET', url.split('?')[0] ?? '');
    if (match === undefined) {
      const uri = `ws://${request.headers.host ?? 'localhost'}${url}`;
      return refuseUpgrade(socket, '404 Not Found', routeNotFound('GET', uri));
    }
    try {
      const caller = await authenticate(tokenOf(request, participant.release));
      const sockets = participant.faults.compress === true ? this.#compressing : this.#plain;
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        // Set after the upgrade, because ws clears the timeout of the socket that it takes over.
        disconnectWhenIdle(socket, idleTimeoutMs);
        const { ledger, faults } = participant;
        const script = new FrameScript({ faults, ledger, path: match.endpoint.path, random });
        const connection = new Connection(webSocket, socket, script);
        onFirstFrame(webSocket, (text) => {
          if (caller === undefined) return connection.refuse(unauthenticated());
          const disabled = disabledIn(participant.release, match.endpoint);
          if (disabled !== undefined) return connection.refuse(disabled);
          return match.endpoint.serve(connection, text, participant, caller);
        });
      });
    } catch (error) {
      if (error instanceof UndecodableRequest)
        return refuseUpgrade(socket, '400 Bad Request', error.message, plainText);
      if (!(error instanceof LedgerFailure)) throw error;
      refuseUpgrade(socket, `${error.status} Refused`, JSON.stringify(error.body));
    }
  }
}

function onFirstFrame(socket: WebSocket, serve: (text: string) => Promise<void>): void {
  socket.once('message', (data) => {
    serve(textOf(data)).catch((cause: unknown) => {
      process.emitWarning(`a sandbox stream failed: ${String(cause)}`);
    });
  });
}
