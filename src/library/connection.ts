/** Connection options of a program: fewer than the indexer needs, and none that the program has to build. */
import { createTokenSource, type TokenSource, assertWellFormed } from '../ledger/access/token.ts';
import { leaseOfFound } from '../ledger/access/token-lifetime.ts';
import type { TransportOptions } from '../ledger/transport/transport.ts';

/** A participant, and how it is called. */
export interface ConnectionOptions {
  /** Base address of the JSON Ledger API, http or https, possibly with a path. */
  readonly url: string;
  /**
   * The access token, or a function that returns one: called for each request and each stream, so it should keep the
   * token while that is valid. Without either and without `tokenFile`, requests have no token.
   */
  readonly token?: string | (() => string | Promise<string>);
  /** A file that contains the token and is read again for each request; takes precedence over `token`. */
  readonly tokenFile?: string;
  /** Certificates in PEM form, for https. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Allows the token over plain http to another machine; default false. */
  readonly insecure?: boolean;
  /** Limit of one request, milliseconds; default 20,000. */
  readonly requestTimeoutMs?: number;
  /** Aborts running requests, and ends `followUpdates`. */
  readonly signal?: AbortSignal;
}

const requestTimeoutMs = 20_000;

/** The same as options of the transport. */
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
    lease: async () => leaseOfFound(await read(), performance.now()),
    invalidate: () => undefined,
    // The library does not wait for another token: it is requested before the next stream.
    replaced: () => Promise.resolve(),
  };
}
