/**
 * The sandbox participant: an embedded ledger that serves the JSON Ledger API v2 over real HTTP and WebSocket. Its
 * state is in memory and deterministic from a seed. Faults can be switched on while it runs. It is for development, the
 * demo and tests, never for production data.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AddressInfo } from 'node:net';
import { SandboxError } from '../wire/sandbox-error.ts';
import { requireToken, openAuthentication } from '../identity/authorization.ts';
import type { Authenticate } from '../identity/authorization.ts';
import { adminEndpoints, isLocalAdmin } from '../endpoints/admin.ts';
import { endpoints, streamEndpoints } from '../endpoints/endpoints.ts';
import { applyRequestFaults, misbehaveAtConnect, misbehaveAtUpgrade } from '../faults/fault-answers.ts';
import type { Faults } from '../faults/faults.ts';
import { authentication } from '../identity/authentication.ts';
import type { AuthOptions } from '../identity/authentication.ts';
import { IdentityProviders } from '../identity/identity-providers.ts';
import { Users } from '../identity/users.ts';
import { serveHttp } from './http.ts';
import type { HttpService } from './http.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { World } from '../ledger/ledger.ts';
import { headerSectionBytes, limitsOf } from '../wire/limits.ts';
import type { Limits } from '../wire/limits.ts';
import type { Participant } from '../api/participant.ts';
import { Packages } from '../packages/packages.ts';
import { Parties } from '../parties/parties.ts';
import { Random } from '../wire/random.ts';
import { isFrom, versionOf } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';
import { routesOf } from './routes.ts';
import { Upgrades } from './upgrades.ts';

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0, for any free port. */
  readonly port?: number;
  /** Path prefix of every endpoint, e.g. `/participant1`. Default none. */
  readonly pathPrefix?: string;
  /** The participant release to simulate. Default 3.5. */
  readonly release?: Release;
  /** The version in GET /v2/version. Default: the newest known of the release. */
  readonly version?: string;
  readonly seed?: number;
  /** Default: the id of the world. */
  readonly participantId?: string;
  /** If set, every request requires exactly this bearer token. */
  readonly token?: string;
  /** Tokens and users as on a secured participant. If absent, every caller may do everything. `token` overrides it. */
  readonly auth?: AuthOptions;
  /** Whether to return the participant's id to any authenticated user. Default false: only to administrators. */
  readonly openParticipantId?: boolean;
  /** Time without data in both directions after which a socket is closed, milliseconds. Default 60000. */
  readonly idleTimeoutMs?: number;
  readonly limits?: Partial<Limits>;
  /**
   * DARs that are uploaded and vetted from the start. For an invalid one, the start rejects with the LedgerFailure of
   * its upload.
   */
  readonly dars?: readonly Uint8Array[];
  readonly faults?: Faults;
  /** Whether to serve `/sandbox/faults` and `/sandbox/ledger` to programs on this machine. Default false. */
  readonly admin?: boolean;
  /** The ledger's clock, milliseconds since 1970. Default the system clock. */
  readonly now?: () => number;
}

export interface Sandbox extends AsyncDisposable {
  /** `http://host:port` with the path prefix, without a trailing slash. */
  readonly url: string;
  readonly participantId: string;
  readonly ledger: Ledger;
  readonly parties: Parties;
  /** May be changed at any time; running streams notice the change at their next frame. */
  readonly faults: Faults;
  /** Closes every socket and frees the port. */
  close(): Promise<void>;
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `the sandbox cannot listen on ${host}:${port}: ${cause.code ?? cause.message}`;
      const remedy = 'choose a free port, or port 0 for any';
      reject(new SandboxError(message, { code: 'SANDBOX_LISTEN', remedy, cause }));
    });
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

function participantOf(world: World, options: SandboxOptions): Participant {
  const ledger = new Ledger(world, options);
  const release = options.release ?? '3.5';
  const limits = limitsOf(release, options.limits);
  const users = new Users(options.auth?.users);
  const identityProviders = new IdentityProviders();
  const packages = new Packages(ledger.model);
  const synchronizerIds = ledger.synchronizers.map(({ id }) => id);
  for (const dar of options.dars ?? []) packages.upload(dar, synchronizerIds);
  const parties = new Parties(ledger, (options.seed ?? 1) + 2);
  const base = { ledger, limits, users, identityProviders, packages, parties };
  const participantIdNeeds = options.openParticipantId === true ? 'authenticated' : 'admin';
  const version = options.version ?? versionOf[release];
  return { ...base, release, version, participantIdNeeds, faults: options.faults ?? {} };
}

function authenticateOf({ token, auth }: SandboxOptions, participant: Participant): Authenticate {
  if (token !== undefined) return requireToken(token);
  if (auth === undefined) return openAuthentication;
  const { ledger, users, identityProviders, release } = participant;
  const needsAudience = isFrom(release, '3.7');
  return authentication(
    { needsAudience, ...auth },
    { participantId: () => ledger.participantId, users, identityProviders },
  );
}

/** Starts a sandbox participant. Rejects with SANDBOX_LISTEN if the port cannot be used. */
export async function startParticipant(world: World, options: SandboxOptions = {}): Promise<Sandbox> {
  const participant = participantOf(world, options);
  const { ledger, faults, parties, release } = participant;
  const pathPrefix = options.pathPrefix ?? '';
  const authenticate = authenticateOf(options, participant);
  const service = { participant, authenticate, routes: routesOf(endpoints, release, pathPrefix) };
  const upgrades = new Upgrades({
    participant,
    authenticate,
    routes: routesOf(streamEndpoints, release, pathPrefix),
    idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
    random: new Random((options.seed ?? 1) + 1),
  });
  const admin =
    options.admin === true ? { ...service, routes: routesOf(adminEndpoints, release, pathPrefix) } : undefined;
  const server = serverOf({ service, admin, upgrades, pathPrefix });
  const host = options.host ?? '127.0.0.1';
  const { port } = await listen(server, host, options.port ?? 0);
  const close = (): Promise<void> => stop(server, upgrades);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${pathPrefix}`;
  const state = { ledger, parties, faults };
  return {
    url,
    ...state,
    get participantId() {
      return ledger.participantId;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface SandboxParts {
  readonly service: HttpService;
  readonly admin: HttpService | undefined;
  readonly upgrades: Upgrades;
  readonly pathPrefix: string;
}

/**
 * The server of all endpoints. The fault script handles every request first, except requests that change the script.
 */
function serverOf({ service, admin, upgrades, pathPrefix }: SandboxParts): Server {
  const context = { ...service.participant, pathPrefix };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (admin !== undefined && isLocalAdmin(request, pathPrefix)) return serveHttp(request, response, admin);
    if (!(await applyRequestFaults(request, response, context))) await serveHttp(request, response, service);
  };
  const server = createServer({ maxHeaderSize: headerSectionBytes }, (request, response) => {
    serve(request, response).catch((cause: unknown) => {
      response.destroy();
      process.emitWarning(`a sandbox response failed: ${String(cause)}`);
    });
  });
  server.on('connection', (socket) => misbehaveAtConnect(socket, context));
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (misbehaveAtUpgrade(request, socket, context)) return upgrades.leave(socket);
    upgrades.upgrade(request, socket, head).catch((cause: unknown) => {
      socket.destroy();
      process.emitWarning(`a sandbox handshake failed: ${String(cause)}`);
    });
  });
  return server;
}

async function stop(server: Server, upgrades: Upgrades): Promise<void> {
  upgrades.close();
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
