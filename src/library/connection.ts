/**
 * Options for connecting to a participant. They are a subset of the indexer's options, and contain nothing that a
 * program would have to build.
 */
import { createTokenSource, type TokenSource, assertWellFormed } from '../ledger/access/token.ts';
import { leaseOfStoredToken } from '../ledger/access/token-lifetime.ts';
import type { TransportOptions } from '../ledger/transport/transport.ts';

/** A participant, and how to connect to it. */
export interface ConnectionOptions {
  /** Base URL of the JSON Ledger API, http or https, optionally with a path. */
  readonly url: string;
  /**
   * The access token, or a function that returns one. The function is called for each request and each stream, so it
   * should keep the token while it is valid. Without `token` and `tokenFile`, requests have no token.
   */
  readonly token?: string | (() => string | Promise<string>);
  /** Path of a file with the token, which is read again for each request. It takes precedence over `token`. */
  readonly tokenFile?: string;
  /** Certificates and key for https, in PEM format. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Whether the token may be sent over plain http to another machine; default false. */
  readonly insecure?: boolean;
  /** Time limit of one request, milliseconds; default 20,000. */
  readonly requestTimeoutMs?: number;
  /** Aborts running requests, and ends `followUpdates`. */
  readonly signal?: AbortSignal;
}

const requestTimeoutMs = 20_000;

/** Converts connection options to options of the transport. */
export function transportOptions(options: ConnectionOptions): TransportOptions & { readonly tokenSource: TokenSource } {
  return {
    url: options.url.replace(/\/+$/, ''),
    tokenSource: tokenSourceOf(options),
    tls: options.tls ?? {},
    insecure: options.insecure ?? false,
    requestTimeoutMs: options.requestTimeoutMs ?? requestTimeoutMs,
    signal: options.signal,
  };
}

function tokenSourceOf({ token, tokenFile }: ConnectionOptions): TokenSource {
  if (typeof token !== 'function' || tokenFile !== undefined) {
    return createTokenSource({ token: typeof token === 'string' ? token : undefined, tokenFile });
  }
  const read = async (): Promise<string> => assertWellFormed((await token()).trim(), 'the function of the program');
  return {
    read,
    lease: async () => leaseOfStoredToken(await read(), performance.now()),
    invalidate: () => undefined,
    // Does not wait for another token, because one is requested before the next stream anyway.
    replaced: () => Promise.resolve(),
  };
}
