/**
 * Access tokens by OAuth 2.0 client credentials (RFC 6749 §4.4), with a configured or discovered endpoint (OpenID
 * Connect Discovery). A token is renewed after 80 % of its lifetime. While the provider is down, the old token is used
 * until it expires.
 */
import {
  allowInsecureRequests,
  clientCredentialsGrant,
  Configuration,
  customFetch,
  type CustomFetch,
  type ServerMetadata,
} from 'openid-client';
import { pause } from '../../config/pause.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { errorFromProvider } from '../errors/oauth-error.ts';
import {
  type AuthMethod,
  authMethods,
  clientAuth,
  type ClientCredentials,
  secretForms,
} from './client-authentication.ts';
import { type CredentialOptions, reloadCredentials, firstCredentials } from './client-credentials.ts';
import { discoverServer } from './discovery.ts';
import { createProviderFetch } from './provider-fetch.ts';
import { leaseOfIssuedToken, type TokenLease } from './token-lifetime.ts';
import { type AccessToken, assertWellFormed, type TokenSource, waitForAbort } from './token.ts';

const requestTimeoutSeconds = 10;
/** Maximum delay between two attempts while the old token is valid, milliseconds. */
const longestPauseMs = 10_000;
const shortestPauseMs = 200;

export interface OAuthOptions extends CredentialOptions {
  /** The issuer for endpoint discovery; exactly one of this and `tokenUrl` is set. */
  readonly issuer?: string | undefined;
  readonly tokenUrl?: string | undefined;
  readonly audience?: string | undefined;
  /** Scopes separated by blanks. If empty, no scope is requested. */
  readonly scope: string;
  /** Certificate authority of the provider's certificate, PEM. */
  readonly ca?: string | undefined;
  /** Allows plain http to another machine. */
  readonly insecure: boolean;
  /** Timeout of each request, for discovery and for tokens; default 10 s. */
  readonly timeoutSeconds?: number | undefined;
  /** Aborts a running request. */
  readonly signal?: AbortSignal | undefined;
  /** Waits until the time has passed or the signal is aborted; by default with a real timer. */
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Delays before a new token is used, milliseconds, by the number of tokens that were refused as soon as they were used.
 * If the provider's clock is ahead of the participant's clock, a new token is not valid yet. The delay is at most a
 * quarter of the token's lifetime.
 */
const retryPausesMs = [0, 2_000, 5_000] as const;
/** Milliseconds. A token that is refused within this time of its first use may not be valid yet. */
const youngTokenMs = 10_000;

/** The known facts of a provider: the endpoint that issues tokens, and the method to reach it. */
interface Provider {
  readonly server: ServerMetadata;
  readonly fetchIt: CustomFetch;
  readonly timeoutSeconds: number;
}

/** Discovers the provider's metadata, or uses the configured endpoint. */
async function findProvider(options: OAuthOptions): Promise<Provider> {
  const { issuer, tokenUrl = '', clientId, ca, insecure, signal } = options;
  const timeoutSeconds = options.timeoutSeconds ?? requestTimeoutSeconds;
  const fetchProvider = createProviderFetch({ ca, insecure, signal });
  const server =
    issuer === undefined
      ? // The library requires an issuer, and uses it as the audience of assertions.
        { issuer: tokenUrl, token_endpoint: tokenUrl }
      : await discoverServer({ issuer, clientId, fetchIt: fetchProvider, timeoutSeconds });
  return { server, fetchIt: fetchProvider, timeoutSeconds };
}

function configure(provider: Provider, client: ClientCredentials, method: AuthMethod): Configuration {
  const config = new Configuration(provider.server, client.id, {}, clientAuth(client, method));
  config.timeout = provider.timeoutSeconds;
  config[customFetch] = provider.fetchIt;
  // The library would refuse http even on loopback. This option disables that check. Our fetch function applies its own
  // rule to every request.
  allowInsecureRequests(config);
  return config;
}

/**
 * Whether the provider may have failed to recognize the client. In that case, the client may be registered for another
 * method.
 */
function isUnrecognized({ code, facts }: IndexerError): boolean {
  // The response is a web page and not a token response. A provider that reads credentials only from the form may
  // respond this way.
  if (code === 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE') return facts['httpStatus'] === 400;
  if (code !== 'LEDGER_TOKEN_REFUSED') return false;
  return facts['httpStatus'] === 401 || clientErrorCodes.has(String(facts['oauthError'])) || isIncomplete(facts);
}

/** Error codes of providers that did not read the client's credentials. Some providers read them only from the form. */
const clientErrorCodes: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client']);

function isIncomplete(facts: IndexerError['facts']): boolean {
  return facts['oauthError'] === 'invalid_request';
}

/**
 * Whether this refusal contains little information, so that the refusal of another method may be more informative.
 * Examples are a wrong audience and a request that the provider did not read.
 */
function isUninformative({ facts, message }: IndexerError): boolean {
  return isIncomplete(facts) || /refused: [^]*\b(?:aud|audience)\b/iu.test(message);
}

function parametersOf({ scope, audience }: OAuthOptions): Record<string, string> {
  return { ...(scope === '' ? {} : { scope }), ...(audience === undefined ? {} : { audience }) };
}

class OAuthTokenSource implements TokenSource {
  readonly #options: OAuthOptions;
  readonly #host: string;
  #client: ClientCredentials;
  #provider: Provider | undefined;
  #current: TokenLease | undefined;
  #running: Promise<TokenLease> | undefined;
  /** The method by which the provider last recognized the client. */
  #recognized: AuthMethod | undefined;
  /** Whether the provider has refused every method since it last recognized the client. */
  #refused = false;
  #tooYoung = 0;
  #givenOutAt = 0;

  constructor(options: OAuthOptions) {
    this.#options = options;
    this.#client = firstCredentials(options);
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
      const validLease = this.#good();
      if (validLease === undefined) throw thrown;
      return this.#postponed(validLease, this.#failure(thrown));
    }
  }

  invalidate(): void {
    if (this.#current !== undefined && performance.now() - this.#givenOutAt < youngTokenMs) this.#tooYoung += 1;
    this.#current = undefined;
  }

  replaced(signal: AbortSignal): Promise<void> {
    return waitForAbort(signal);
  }

  /** The current token, unless it has expired. */
  #good(): TokenLease | undefined {
    const { endsAt } = this.#current ?? {};
    return endsAt === undefined || performance.now() < endsAt ? this.#current : undefined;
  }

  #postponed(lease: TokenLease, problem: AccessToken['problem']): AccessToken {
    const now = performance.now();
    const remainingMs = lease.endsAt === undefined ? longestPauseMs : lease.endsAt - now;
    const { retryAfterSeconds = 0 } = problem?.facts ?? {};
    const requestedMs = Math.min(remainingMs, Number(retryAfterSeconds) * 1000);
    const pause = Math.max(requestedMs, Math.min(longestPauseMs, Math.max(shortestPauseMs, remainingMs / 4)));
    const delayedLease = { ...lease, renewAt: now + pause };
    // All callers share the pause, unless the token was refused in the meantime.
    if (this.#current === lease) this.#current = delayedLease;
    return { ...delayedLease, problem };
  }

  async #keepBack({ endsAt = Infinity }: TokenLease, requestedAt: number): Promise<void> {
    const delayMs = retryPausesMs[Math.min(this.#tooYoung, retryPausesMs.length - 1)] ?? 0;
    const ms = Math.min(delayMs, (endsAt - requestedAt) / 4);
    const { pause: wait = pause, signal } = this.#options;
    if (ms > 0) await wait(ms, signal);
  }

  /** Renews the token. Concurrent callers share one request and its result. */
  #renew(): Promise<TokenLease> {
    this.#running ??= this.#request().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #request(): Promise<TokenLease> {
    try {
      return await this.#requestByAnyMethod();
    } catch (thrown) {
      // The provider may have moved its endpoints, so the next attempt discovers them again.
      this.#provider = undefined;
      throw this.#failure(thrown);
    }
  }

  async #requestByAnyMethod(): Promise<TokenLease> {
    await this.#readCredentials();
    this.#provider ??= await findProvider(this.#options);
    let lastRefusal: IndexerError | undefined;
    for (const method of this.#methods(this.#provider.server)) {
      try {
        const lease = await this.#obtain(this.#provider, method);
        [this.#recognized, this.#refused] = [method, false];
        return lease;
      } catch (thrown) {
        const failure = this.#failure(thrown);
        if (!isUnrecognized(failure)) throw this.#notTheClient(failure, method, lastRefusal);
        // The first refusal is usually the most informative, unless the method caused it.
        if (lastRefusal === undefined || isUninformative(lastRefusal)) lastRefusal = failure;
      }
    }
    // If the response is a web page, it is unknown whether the client was the reason. With a key, both audiences are
    // tried again, because registering the public key changes no file here. With a secret, the other methods are not
    // tried again, because providers lock clients out after wrong secrets.
    this.#refused = lastRefusal?.code === 'LEDGER_TOKEN_REFUSED' && 'secret' in this.#client;
    throw lastRefusal;
  }

  /** If there is a new secret or key, every method is tried again. */
  async #readCredentials(): Promise<void> {
    const reloaded = await reloadCredentials(this.#client, this.#options);
    if (reloaded === this.#client) return;
    [this.#client, this.#refused] = [reloaded, false];
  }

  /** All methods, with the last recognized one first. If all methods were refused before, only that one. */
  #methods(server: ServerMetadata): readonly AuthMethod[] {
    const methods = authMethods(this.#client, server);
    const first = methods.find((method) => method === this.#recognized) ?? methods[0] ?? 'basic';
    return this.#refused ? [first] : [first, ...methods.filter((method) => method !== first)];
  }

  /**
   * Called when the failure does not concern the client.
   * @param the refusal of the previous methods, which remains the known reason if this method got no response;
   * undefined for the first method
   */
  #notTheClient(failure: IndexerError, method: AuthMethod, lastRefusal: IndexerError | undefined): IndexerError {
    if (failure.retry === 'retry') return lastRefusal ?? failure;
    [this.#recognized, this.#refused] = [method, false];
    return failure;
  }

  #failure(thrown: unknown): IndexerError {
    return errorFromProvider(thrown, this.#host, secretForms(this.#client));
  }

  async #obtain(provider: Provider, method: AuthMethod): Promise<TokenLease> {
    const config = configure(provider, this.#client, method);
    const requestedAt = performance.now();
    const tokenResponse = await clientCredentialsGrant(config, parametersOf(this.#options));
    const token = assertWellFormed(tokenResponse.access_token, 'the token provider');
    const issued = leaseOfIssuedToken(token, requestedAt, tokenResponse.expires_in);
    await this.#keepBack(issued, requestedAt);
    [this.#current, this.#givenOutAt] = [issued, performance.now()];
    return issued;
  }
}

/**
 * A token source that requests its tokens from a provider. It requests the first token when it is first used. While
 * there is no valid token, it rejects with LEDGER_TOKEN_PROVIDER_UNAVAILABLE (retry) or LEDGER_TOKEN_REFUSED (park).
 */
export function createOAuthTokenSource(options: OAuthOptions): TokenSource {
  return new OAuthTokenSource(options);
}
