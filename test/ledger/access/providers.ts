/**
 * A small identity provider on a free port. It serves metadata and issues tokens for client credentials. It was written
 * from RFC 6749, RFC 8414, OpenID Connect Discovery and the documented behavior of real providers. It shares no code
 * with the indexer, so that both cannot contain the same error.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { assertionFlaw, type RegisteredKey } from './assertions.ts';

interface Client {
  readonly id: string;
  readonly secret: string;
  readonly key?: RegisteredKey;
}

/** A response; an object is sent as JSON, a string as it is. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>> | string;
}

/** `cut` closes the connection without a response. */
export type Answer = Reply | 'cut';

export interface TokenRequest {
  /** Number of the request, beginning with 1. */
  readonly number: number;
  readonly form: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

type SecretPlace = 'basic' | 'form';

/** Deviations of a provider from the RFCs, and its choices where the RFCs permit several. */
export interface Behavior {
  readonly client?: Client;
  /** Path of the issuer, such as `/realms/ledger`. */
  readonly issuerPath?: string;
  /** The issuer as the metadata spells it. */
  readonly spelled?: (issuer: string) => string;
  /** Path of the metadata, if it is not the path of OpenID Connect Discovery. */
  readonly metadataAt?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** URL to which the path of the metadata redirects. */
  readonly metadataMovedTo?: string;
  /** Host of the token endpoint, if it is not the host of the issuer. */
  readonly tokenHost?: string;
  /** Methods by which this client may send its secret; both methods by default. */
  readonly accepts?: readonly SecretPlace[];
  /** The only accepted audience of assertions. If it is not set, both audiences are accepted. */
  readonly assertionAudience?: 'issuer' | 'endpoint';
  /** Compares the credentials of HTTP Basic without decoding them. */
  readonly comparesRaw?: boolean;
  /** Response to a client that the provider does not recognize. */
  readonly unrecognized?: Answer;
  /** Response to a request before its client is checked; undefined to continue. */
  readonly first?: (request: TokenRequest) => Answer | undefined;
  /** Rejection of a recognized client; undefined to issue a token. */
  readonly refuses?: (request: TokenRequest) => Answer | undefined;
  /** Replaces the JWT in the response. */
  readonly token?: (number: number) => string;
  /** Seconds by which the clock of the provider is ahead. */
  readonly ahead?: number;
  /** Changes the claims of JWTs. */
  readonly claims?: (claims: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Replaces the response that carries a token. */
  readonly grants?: (token: string) => Answer;
}

export interface Provider extends AsyncDisposable {
  /** The registered client, which may be replaced at any time. */
  client: Client;
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly tokenRequests: readonly TokenRequest[];
}

/** A unique text, so that a test can search for it. */
export const registeredClient: Client = { id: 'indexer-7c1f', secret: 'canary-secret-5d2e' };

const tokenPath = '/oauth2/token';

/** Starts an identity provider with this behavior. */
export async function startProvider(behavior: Behavior): Promise<Provider> {
  const tokenRequests: TokenRequest[] = [];
  const usedIds = new Set<string>();
  let client = behavior.client ?? registeredClient;
  const server = createServer((request, response) => {
    void respond(request).then((providerAnswer) => send(response, providerAnswer));
  });
  const respond = async (request: IncomingMessage): Promise<Answer> => {
    const path = request.url ?? '';
    if (path !== tokenPath) return metadataOf(behavior, path, addresses());
    const formParameters = new URLSearchParams(await textOf(request));
    const tokenRequest = { number: tokenRequests.length + 1, form: formParameters, headers: request.headers };
    tokenRequests.push(tokenRequest);
    return tokenResponse({ ...behavior, client }, tokenRequest, { ...addresses(), usedIds });
  };
  const addresses = (): Addresses => {
    const { port } = server.address() as AddressInfo;
    const { issuerPath = '', tokenHost = '127.0.0.1' } = behavior;
    return {
      issuer: `http://127.0.0.1:${port}${issuerPath}`,
      tokenUrl: `http://${tokenHost}:${port}${tokenPath}`,
    };
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    ...addresses(),
    tokenRequests,
    get client() {
      return client;
    },
    set client(value) {
      client = value;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Addresses {
  readonly issuer: string;
  readonly tokenUrl: string;
}

interface Endpoint extends Addresses {
  /** `jti` of the assertions so far. */
  readonly usedIds: Set<string>;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, serverResponse: Answer): void {
  if (serverResponse === 'cut') {
    response.destroy();
    return;
  }
  const { status = 200, headers = {}, body = '' } = serverResponse;
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function metadataOf(behavior: Behavior, path: string, { issuer, tokenUrl }: Addresses): Answer {
  const { issuerPath = '', spelled: spellName = (name) => name, metadataMovedTo } = behavior;
  const metadataPath = behavior.metadataAt ?? `${issuerPath}/.well-known/openid-configuration`;
  if (path !== metadataPath) return { status: 404, body: 'not found' };
  if (metadataMovedTo !== undefined) return { status: 302, headers: { location: metadataMovedTo } };
  return { body: { issuer: spellName(issuer), token_endpoint: tokenUrl, ...behavior.metadata } };
}

function refusal(error: string, status = 400): Answer {
  return { status, body: { error } };
}

function tokenResponse(behavior: Behavior, request: TokenRequest, endpoint: Endpoint): Answer {
  const rejection = behavior.first?.(request) ?? malformedAnswer(request);
  if (rejection !== undefined) return rejection;
  const { client: { key } = registeredClient, unrecognized } = behavior;
  const flaw = key === undefined ? undefined : flawOf(key, behavior, request, endpoint);
  if (flaw !== undefined) return { status: 401, body: { error: 'invalid_client', error_description: flaw } };
  if (key === undefined && !isRecognized(behavior, request)) return unrecognized ?? refusal('invalid_client', 401);
  const refusedResult = behavior.refuses?.(request);
  if (refusedResult !== undefined) return refusedResult;
  const token = behavior.token?.(request.number) ?? jwtOf(behavior, request);
  return behavior.grants?.(token) ?? { body: { access_token: token, token_type: 'Bearer', expires_in: 300 } };
}

/** Rejects requests that violate RFC 6749 §3.2 or §4.4.2. Some servers also reject bodies without a length. */
function malformedAnswer({ form: formParameters, headers }: TokenRequest): Answer | undefined {
  if (headers['content-length'] === undefined) return { status: 411 };
  if (!/^application\/x-www-form-urlencoded(?:;|$)/iu.test(headers['content-type'] ?? '')) {
    return refusal('invalid_request');
  }
  const names = [...formParameters.keys()];
  if (new Set(names).size !== names.length) return refusal('invalid_request');
  return formParameters.get('grant_type') === 'client_credentials' ? undefined : refusal('unsupported_grant_type');
}

function flawOf(key: RegisteredKey, behavior: Behavior, request: TokenRequest, endpoint: Endpoint): string | undefined {
  const { client = registeredClient, assertionAudience, spelled: spellName = (name) => name } = behavior;
  const { headers, form: formParameters } = request;
  if (headers.authorization !== undefined || formParameters.has('client_secret')) return 'Multiple client credentials.';
  const metadataFields = { issuer: spellName(endpoint.issuer), endpoint: endpoint.tokenUrl };
  const audiences =
    assertionAudience === undefined ? Object.values(metadataFields) : [metadataFields[assertionAudience]];
  return assertionFlaw(formParameters, key, { clientId: client.id, audiences, usedIds: endpoint.usedIds });
}

function isRecognized(behavior: Behavior, { form: formParameters, headers }: TokenRequest): boolean {
  const { client = registeredClient, accepts = ['basic', 'form'], comparesRaw = false } = behavior;
  const basic = /^Basic (.+)$/u.exec(headers.authorization ?? '')?.[1];
  // RFC 6749 §2.3 permits only one method in a request.
  if (basic !== undefined && formParameters.has('client_secret')) return false;
  if (basic === undefined) {
    const isSame =
      formParameters.get('client_id') === client.id && formParameters.get('client_secret') === client.secret;
    return accepts.includes('form') && isSame;
  }
  const [id = '', ...secretParts] = Buffer.from(basic, 'base64').toString('utf8').split(':');
  const decodeCredential = comparesRaw ? (text: string) => text : decodeComponent;
  return (
    accepts.includes('basic') &&
    decodeCredential(id) === client.id &&
    decodeCredential(secretParts.join(':')) === client.secret
  );
}

/** Decodes `application/x-www-form-urlencoded`; undefined for other encodings. */
function decodeComponent(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function jwtOf(
  { ahead: clockOffset = 0, claims = (ownClaims) => ownClaims }: Behavior,
  { number, form: formParameters }: TokenRequest,
): string {
  const now = Math.floor(Date.now() / 1000) + clockOffset;
  const audience = formParameters.get('audience') ?? 'https://daml.com/jwt/aud/participant/p';
  const ownClaims = {
    sub: registeredClient.id,
    aud: audience,
    iat: now,
    nbf: now,
    exp: now + 300,
    jti: String(number),
  };
  const encodePart = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encodePart({ alg: 'RS256', kid: 'key-1' })}.${encodePart(claims(ownClaims))}.c2ln`;
}
