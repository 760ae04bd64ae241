/**
 * The sandbox participant: an embedded ledger that speaks the JSON Ledger API v2 over real HTTP and WebSocket. State is
 * in memory and deterministic from a seed; faults can be switched on while it runs. It is for development, the demo and
 * tests, never for production data.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import { IndexerError } from '../errors.ts';
import { authorized, offeredProtocols } from './authorization.ts';
import { Connection } from './connection.ts';
import { unauthenticated } from './failure.ts';
import type { Faults } from './faults.ts';
import { serveHttp } from './http.ts';
import { Ledger } from './ledger.ts';
import { Random } from './random.ts';
import { serveActiveContracts, serveUpdates } from './streams.ts';
import type { StreamSettings } from './streams.ts';

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  readonly seed?: number;
  readonly participantId?: string;
  /** When set, every request needs exactly this bearer token. */
  readonly token?: string;
  /** Silence in both directions after which a socket is cut, milliseconds. Default 60000. */
  readonly idleTimeoutMs?: number;
  /** Time between OffsetCheckpoints of a stream, milliseconds. Default 60000. */
  readonly checkpointIntervalMs?: number;
  readonly faults?: Faults;
  /** The ledger's clock, milliseconds since 1970. Default the system clock. */
  readonly now?: () => number;
}

export interface Sandbox extends AsyncDisposable {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  readonly participantId: string;
  readonly ledger: Ledger;
  /** Change it at any time; running streams see the change at their next frame. */
  readonly faults: Faults;
  /** Cuts every socket and frees the port. */
  close(): Promise<void>;
}

const streams: Readonly<Record<string, typeof serveUpdates>> = {
  '/v2/updates': serveUpdates,
  '/v2/state/active-contracts': serveActiveContracts,
};

/** The participant ignores what was offered; the documented alias is answered only to clients that know no other name. */
function subprotocol(offered: readonly string[]): string {
  return offered.includes('ledger.ws.auth') && !offered.includes('daml.ws.auth') ? 'ledger.ws.auth' : 'daml.ws.auth';
}

function createSockets(): WebSocketServer {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => subprotocol([...offered]),
  });
  sockets.on('headers', (headers: string[], request: IncomingMessage) => {
    if (offeredProtocols(request).length === 0) headers.push('Sec-WebSocket-Protocol: daml.ws.auth');
  });
  return sockets;
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `the sandbox cannot listen on ${host}:${port}: ${cause.code ?? cause.message}`;
      const remedy = 'choose a free port, or port 0 for any';
      reject(new IndexerError(message, { code: 'SANDBOX_LISTEN', retry: 'fatal', remedy, cause }));
    });
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return (data instanceof ArrayBuffer ? Buffer.from(data) : data).toString();
}

/** Cuts the TCP connection, without a close frame, after silence in both directions. */
function cutWhenIdle(socket: Duplex, idleTimeoutMs: number): void {
  if (socket instanceof Socket) socket.setTimeout(idleTimeoutMs, () => socket.destroy());
}

/** Starts a sandbox participant. Rejects with SANDBOX_LISTEN when the port cannot be used. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const ledger = new Ledger(options);
  const faults: Faults = options.faults ?? {};
  const settings: StreamSettings = { ledger, faults, checkpointIntervalMs: options.checkpointIntervalMs ?? 60_000 };
  const random = new Random((options.seed ?? 1) + 1);
  const sockets = createSockets();
  const accept = (socket: WebSocket, request: IncomingMessage, serve: typeof serveUpdates): void => {
    const connection = new Connection(socket, faults, random);
    socket.once('message', (data) => {
      const served = authorized(request, options.token)
        ? serve(connection, textOf(data), settings)
        : connection.refuse(unauthenticated());
      served.catch((cause: unknown) => {
        process.emitWarning(`a sandbox stream failed: ${String(cause)}`);
      });
    });
  };
  const server = createServer((request, response) => {
    if (faults.neverAnswer === true) return;
    void serveHttp(request, response, ledger, options.token);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const serve = streams[(request.url ?? '').split('?')[0] ?? ''];
    if (serve === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      // After the upgrade: ws clears the time-out of the socket it takes over.
      cutWhenIdle(socket, options.idleTimeoutMs ?? 60_000);
      accept(accepted, request, serve);
    });
  });
  const host = options.host ?? '127.0.0.1';
  const { port } = await listen(server, host, options.port ?? 0);
  const close = (): Promise<void> => stop(server, sockets);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { url, participantId: ledger.participantId, ledger, faults, close, [Symbol.asyncDispose]: close };
}

async function stop(server: Server, sockets: WebSocketServer): Promise<void> {
  for (const socket of sockets.clients) socket.terminate();
  sockets.close();
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
