/**
 * Access tokens by OAuth 2.0 client credentials (RFC 6749 §4.4), with the endpoint given or discovered (OpenID Connect
 * Discovery). A token is renewed at 80 % of its life; while the provider is down, the old one is used until it ends. The
 * exchange with the provider is our own, at the end.
 */
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  allowInsecureRequests,
  type ClientAuth,
  clientCredentialsGrant,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  type CustomFetch,
  type CustomFetchOptions,
  discovery,
  None,
  type ServerMetadata,
} from 'openid-client';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { errorFromProvider } from '../errors/oauth-error.ts';
import { leaseOfIssued, type TokenLease } from './token-lifetime.ts';
import { type AccessToken, assertWellFormed, type TokenSource, untilAborted } from './token.ts';
import { limitInformational } from '../../informational.ts';
import { travelsInClear } from '../../loopback.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';

const requestTimeoutSeconds = 10;
/** Between two tries while the old token is still good, milliseconds. */
const longestPauseMs = 10_000;
const shortestPauseMs = 200;

export interface OAuthOptions {
  /** The issuer to ask for its endpoints; exactly one of this and `tokenUrl` is given. */
  readonly issuer?: string | undefined;
  readonly tokenUrl?: string | undefined;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly audience?: string | undefined;
  /** Separated by blanks; empty asks for none. */
  readonly scope: string;
  /** PEM of the issuer of the provider's certificate. */
  readonly ca?: string | undefined;
  /** Allow plain http to another machine. */
  readonly insecure: boolean;
  /** Each of the requests, discovery and token; 10 s unless given. */
  readonly timeoutSeconds?: number | undefined;
  /** Aborts a running request. */
  readonly signal?: AbortSignal | undefined;
  /** Waits, at most until the signal is aborted; by the clock unless given. */
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * How long a new token is kept back, milliseconds, after so many were refused as soon as they were used: where the clock of the
 * provider is ahead of the participant's, a token is not good yet. At most a quarter of its life.
 */
const keptBackMs = [0, 2_000, 5_000] as const;
/** A token that is refused within so long of its first use may be too young, milliseconds. */
const youngMs = 10_000;

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/**
 * Basic is what every provider has to offer (RFC 6749 §2.3.1); the form is for those that say they do not.
 * @param other the other one of the two: providers list what they take of some client, and take of each what it was registered for
 */
function authentication(secret: string, supported: readonly string[] | undefined, other: boolean): ClientAuth {
  const onlyPost = supported?.includes('client_secret_basic') === false && supported.includes('client_secret_post');
  return onlyPost === other ? ClientSecretBasic(secret) : ClientSecretPost(secret);
}

/** What the provider says of itself, or the one endpoint that was given. */
async function serverMetadata(options: OAuthOptions, fetchIt: CustomFetch, timeout: number): Promise<ServerMetadata> {
  const { issuer, tokenUrl = '', clientId } = options;
  if (issuer === undefined) return { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
  const execute = [allowInsecureRequests];
  const found = await discovery(new URL(issuer), clientId, {}, None(), { timeout, execute, [customFetch]: fetchIt });
  return found.serverMetadata();
}

async function configure(options: OAuthOptions, other: boolean): Promise<Configuration> {
  const { clientId, clientSecret, ca, insecure, signal } = options;
  const timeout = options.timeoutSeconds ?? requestTimeoutSeconds;
  const fetchIt = createProviderFetch({ ca, insecure, signal });
  const server = await serverMetadata(options, fetchIt, timeout);
  const auth = authentication(clientSecret, server.token_endpoint_auth_methods_supported, other);
  const config = new Configuration(server, clientId, {}, auth);
  config.timeout = timeout;
  config[customFetch] = fetchIt;
  // The library's own rule knows no loopback; ours stands in the fetch and holds for every request.
  allowInsecureRequests(config);
  return config;
}

function parametersOf({ scope, audience }: OAuthOptions): Record<string, string> {
  return { ...(scope === '' ? {} : { scope }), ...(audience === undefined ? {} : { audience }) };
}

class OAuthTokenSource implements TokenSource {
  readonly #options: OAuthOptions;
  readonly #host: string;
  #config: Configuration | undefined;
  #current: TokenLease | undefined;
  #running: Promise<TokenLease> | undefined;
  /** Undefined until a provider has refused the client, and so the other way was tried. */
  #other: boolean | undefined;
  #tooYoung = 0;
  #givenOutAt = 0;

  constructor(options: OAuthOptions) {
    this.#options = options;
    this.#host = new URL(options.issuer ?? options.tokenUrl ?? '').host;
  }

  async read(): Promise<string> {
    return (this.#good() ?? (await this.#renew())).token;
  }

  async lease(): Promise<AccessToken> {
    const before = this.#good();
    const { renewAt } = before ?? {};
    if (before !== undefined && (renewAt === undefined || performance.now() < renewAt)) return before;
    try {
      return await this.#renew();
    } catch (thrown) {
      const good = this.#good();
      if (good === undefined) throw thrown;
      return this.#postponed(good, this.#failure(thrown));
    }
  }

  invalidate(): void {
    if (this.#current !== undefined && performance.now() - this.#givenOutAt < youngMs) this.#tooYoung += 1;
    this.#current = undefined;
  }

  replaced(signal: AbortSignal): Promise<void> {
    return untilAborted(signal);
  }

  /** The current token while it has not ended. */
  #good(): TokenLease | undefined {
    const { endsAt } = this.#current ?? {};
    return endsAt === undefined || performance.now() < endsAt ? this.#current : undefined;
  }

  #postponed(lease: TokenLease, problem: AccessToken['problem']): AccessToken {
    const now = performance.now();
    const left = lease.endsAt === undefined ? longestPauseMs : lease.endsAt - now;
    const pause = Math.min(longestPauseMs, Math.max(shortestPauseMs, left / 4));
    const later = { ...lease, renewAt: now + pause };
    // Unless it was refused in the meantime, all who ask share the pause.
    if (this.#current === lease) this.#current = later;
    return { ...later, problem };
  }

  async #keepBack({ endsAt = Infinity }: TokenLease, askedAt: number): Promise<void> {
    const wanted = keptBackMs[Math.min(this.#tooYoung, keptBackMs.length - 1)] ?? 0;
    const ms = Math.min(wanted, (endsAt - askedAt) / 4);
    const { pause: wait = pause, signal } = this.#options;
    if (ms > 0) await wait(ms, signal);
  }

  /** One request at a time: whoever asks meanwhile gets its result. */
  #renew(): Promise<TokenLease> {
    this.#running ??= this.#request().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #request(): Promise<TokenLease> {
    try {
      return await this.#obtain(this.#other ?? false);
    } catch (thrown) {
      const refusal = this.#failure(thrown);
      if (refusal.facts['oauthError'] !== 'invalid_client' || this.#other !== undefined) throw refusal;
      this.#other = true;
      try {
        return await this.#obtain(true);
      } catch (again) {
        // What the other way is refused for says less. Where there was no answer it is tried again.
        this.#other = this.#failure(again).facts['oauthError'] === undefined ? undefined : false;
        throw refusal;
      }
    }
  }

  #failure(thrown: unknown): IndexerError {
    return errorFromProvider(thrown, this.#host, this.#options.clientSecret);
  }

  /** @param other whether to identify the client in the other way */
  async #obtain(other: boolean): Promise<TokenLease> {
    try {
      this.#config ??= await configure(this.#options, other);
      const askedAt = performance.now();
      const answer = await clientCredentialsGrant(this.#config, parametersOf(this.#options));
      const token = assertWellFormed(answer.access_token, 'the token provider');
      const issued = leaseOfIssued(token, askedAt, answer.expires_in);
      await this.#keepBack(issued, askedAt);
      [this.#current, this.#givenOutAt] = [issued, performance.now()];
      return issued;
    } catch (thrown) {
      // The provider may have moved its endpoints: the next try asks for them again.
      this.#config = undefined;
      throw thrown;
    }
  }
}

/**
 * A source that obtains its tokens itself, the first when it is first asked.
 * Rejects with LEDGER_TOKEN_PROVIDER_UNAVAILABLE (retry) or LEDGER_TOKEN_REFUSED (park) while there is no good token.
 */
export function createOAuthTokenSource(options: OAuthOptions): TokenSource {
  return new OAuthTokenSource(options);
}

// One HTTP exchange with a token provider, in the form the OAuth library asks for. Its own, because the built-in fetch
// takes no certificate authority, follows redirects with the secret, and reads answers of any size.

/** Metadata and tokens are a few kilobytes; more is not an answer of a provider. */
const maxAnswerBytes = 1024 * 1024;
const withoutBody = new Set([204, 205, 304]);

export interface ProviderConnection {
  /** PEM of the issuer to trust instead of the system's. */
  readonly ca: string | undefined;
  /** Allow plain http to another machine. */
  readonly insecure: boolean;
  /** Aborts running requests. */
  readonly signal: AbortSignal | undefined;
}

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`an answer of more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function toResponse(incoming: IncomingMessage): Promise<Response> {
  const body = await bodyOf(incoming);
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return new Response(withoutBody.has(status) ? null : new Uint8Array(body), { status, headers });
}

/** What the library sends is a form or nothing. */
function textOf(body: CustomFetchOptions['body']): string | undefined {
  if (body instanceof URLSearchParams) return body.toString();
  return typeof body === 'string' ? body : undefined;
}

/** @throws IndexerError LEDGER_TOKEN_INSECURE; anything else is a network error as Node reports it */
function createProviderFetch(connection: ProviderConnection): CustomFetch {
  return async (url, options) => {
    if (!connection.insecure && travelsInClear(url)) {
      const { host } = new URL(url);
      throw ledgerError('LEDGER_TOKEN_INSECURE', `will not send the client secret in clear text to ${host}`);
    }
    const signals = [options.signal, connection.signal].filter((signal) => signal !== undefined);
    return exchange(url, options, AbortSignal.any(signals), connection.ca);
  };
}

function exchange(url: string, options: CustomFetchOptions, signal: AbortSignal, ca?: string): Promise<Response> {
  const { method } = options;
  const payload = textOf(options.body);
  const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) };
  const headers = { ...options.headers, ...length };
  return new Promise<Response>((resolve, reject) => {
    const secure = url.startsWith('https:');
    const open = secure ? httpsRequest : httpRequest;
    // No agent: a connection kept for a request in some minutes is usually dead by then.
    const request = open(url, { method, headers, agent: false, ...(secure && ca !== undefined ? { ca } : {}) });
    limitInformational(request);
    const abort = (): void => {
      reject(signal.reason as Error);
      request.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    request.on('error', reject);
    request.on('response', (response) => {
      toResponse(response).then(resolve, reject);
    });
    request.on('close', () => {
      signal.removeEventListener('abort', abort);
    });
    if (signal.aborted) abort();
    request.end(payload);
  });
}
