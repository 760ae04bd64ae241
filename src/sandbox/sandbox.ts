/**
 * The sandbox participant: an embedded ledger that speaks the JSON Ledger API v2 over real HTTP and WebSocket. State is
 * in memory and deterministic from a seed; faults can be switched on while it runs. It is for development, the demo and
 * tests, never for production data.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AddressInfo } from 'node:net';
import type { WebSocketServer } from 'ws';
import { IndexerError } from '../errors.ts';
import { exactly, open } from './authorization.ts';
import { endpoints, streamEndpoints } from './endpoints.ts';
import type { Faults } from './faults.ts';
import { serveHttp } from './http.ts';
import { Ledger } from './ledger.ts';
import type { Limits, Participant } from './participant.ts';
import { Random } from './random.ts';
import type { Release } from './release.ts';
import { routesOf } from './routes.ts';
import { Upgrades } from './upgrades.ts';

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Path in front of every endpoint, e.g. `/participant1`. Default none. */
  readonly pathPrefix?: string;
  /** The participant release to stand for. Default 3.5. */
  readonly release?: Release;
  readonly seed?: number;
  readonly participantId?: string;
  /** When set, every request needs exactly this bearer token. */
  readonly token?: string;
  /** Silence in both directions after which a socket is cut, milliseconds. Default 60000. */
  readonly idleTimeoutMs?: number;
  readonly limits?: Partial<Limits>;
  readonly faults?: Faults;
  /** The ledger's clock, milliseconds since 1970. Default the system clock. */
  readonly now?: () => number;
}

export interface Sandbox extends AsyncDisposable {
  /** `http://host:port` with the path prefix, without a trailing slash. */
  readonly url: string;
  readonly participantId: string;
  readonly ledger: Ledger;
  /** Change it at any time; running streams see the change at their next frame. */
  readonly faults: Faults;
  /** Cuts every socket and frees the port. */
  close(): Promise<void>;
}

/** The participant's own settings, as it ships. */
const defaultLimits: Limits = {
  checkpointIntervalMs: 60_000,
  listElements: 200,
  listWaitMs: 500,
  bodyBytes: 8 * 1024 * 1024,
};

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

function participantOf(options: SandboxOptions): Participant {
  const ledger = new Ledger(options);
  const limits = { ...defaultLimits, ...options.limits };
  return { ledger, release: options.release ?? '3.5', faults: options.faults ?? {}, limits };
}

/** Starts a sandbox participant. Rejects with SANDBOX_LISTEN when the port cannot be used. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const participant = participantOf(options);
  const { ledger, faults, release } = participant;
  const pathPrefix = options.pathPrefix ?? '';
  const authenticate = options.token === undefined ? open : exactly(options.token);
  const service = { participant, authenticate, routes: routesOf(endpoints, release, pathPrefix) };
  const upgrades = new Upgrades({
    participant,
    authenticate,
    routes: routesOf(streamEndpoints, release, pathPrefix),
    idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
    random: new Random((options.seed ?? 1) + 1),
  });
  const server = createServer((request, response) => {
    if (faults.neverAnswer === true) return;
    void serveHttp(request, response, service);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.upgrade(request, socket, head).catch((cause: unknown) => {
      socket.destroy();
      process.emitWarning(`a sandbox handshake failed: ${String(cause)}`);
    });
  });
  const host = options.host ?? '127.0.0.1';
  const { port } = await listen(server, host, options.port ?? 0);
  const close = (): Promise<void> => stop(server, upgrades.sockets);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${pathPrefix}`;
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
