/**
 * A real OpenID Connect provider on a free port. One client may get JWT access tokens with the client credentials
 * grant. Tests can inject faults.
 */
import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Provider, type Configuration } from 'oidc-provider';

export const clientId = 'indexer';
/** No other text equals the secret, so a test can search for it. */
export const clientSecret = 'canary-client-secret-7f3a';
/** The audience of the tokens. It is also the default if the client requests no resource. */
export const audience = 'https://daml.com/jwt/aud/participant/sandbox';

export interface OidcOptions {
  /** Lifetime of a token in seconds, an integer. Default 2. */
  readonly tokenSeconds?: number;
  /** Wraps the server that will listen, for example in TLS. */
  readonly server?: (listener: RequestListener) => Server;
  readonly protocol?: 'http' | 'https';
  /** Whether the client must send its secret in the form. By default, the provider accepts both ways. */
  readonly onlyForm?: boolean;
  /** The public key of a client that is registered for `private_key_jwt` instead of a secret. */
  readonly clientJwk?: JsonWebKey;
}

export interface Oidc extends AsyncDisposable {
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly jwksUrl: string;
  /** Form bodies of the token requests so far. */
  readonly tokenRequests: readonly URLSearchParams[];
  /** Replaces the responses to token requests. If undefined, the provider responds. May be changed at any time. */
  answerWith: RequestListener | undefined;
  /** Stops listening, and closes its connections. May be called again. */
  stop(): Promise<void>;
}

function signingKey(): JsonWebKey {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' };
}

function configuration({ tokenSeconds = 2, clientJwk }: OidcOptions): Configuration {
  const secretClientMetadata = { client_secret: clientSecret };
  const keyClientMetadata = {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ ...clientJwk }] },
  } as const;
  return {
    clients: [
      {
        client_id: clientId,
        ...(clientJwk === undefined ? secretClientMetadata : keyClientMetadata),
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        scope: 'daml_ledger_api',
      },
    ],
    scopes: ['daml_ledger_api', 'admin'],
    jwks: { keys: [signingKey()] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'daml_ledger_api admin',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: tokenSeconds,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    ttl: { ClientCredentials: tokenSeconds },
    // The participant uses the subject as the user id, as for a service user.
    extraTokenClaims: () => ({ sub: clientId }),
  };
}

/** Starts the provider. */
export async function startOidc(options: OidcOptions = {}): Promise<Oidc> {
  let provide: RequestListener = (_request, response) => response.writeHead(503).end();
  let requestListener: RequestListener | undefined;
  const tokenRequests: URLSearchParams[] = [];
  const refuseClient = (response: ServerResponse): void => {
    tokenRequests.push(new URLSearchParams());
    response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Basic realm="x"' });
    response.end('{"error":"invalid_client"}');
  };
  const listener: RequestListener = (request, response) => {
    if (request.url !== '/token') {
      provide(request, response);
      return;
    }
    if (requestListener !== undefined) requestListener(request, response);
    else if (options.onlyForm === true && request.headers.authorization !== undefined) refuseClient(response);
    else provide(request, response);
  };
  const server = (options.server ?? createServer)(listener);
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = `${options.protocol ?? 'http'}://127.0.0.1:${port}`;
  const provider = new Provider(issuer, configuration(options));
  provider.use(async (context, next) => {
    await next();
    if (context.path !== '/token') return;
    const { body } = context['oidc'] as { readonly body?: Record<string, string> };
    tokenRequests.push(new URLSearchParams(body));
  });
  const callback = provider.callback();
  provide = (request, response) => void callback(request, response);
  const stop = async (): Promise<void> => {
    for (const socket of connections) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    issuer,
    tokenUrl: `${issuer}/token`,
    jwksUrl: `${issuer}/jwks`,
    tokenRequests,
    get answerWith() {
      return requestListener;
    },
    set answerWith(value) {
      requestListener = value;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
