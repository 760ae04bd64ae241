/**
 * Reader tokens. They are looked up by hash, and checked again while streams that they opened are running. Only one
 * read runs at a time. The next read is for all requests that have arrived in the meantime. Therefore a caller that
 * guesses tokens causes only a few reads per second in the database.
 */
import type { IncomingMessage } from 'node:http';
import { hashOf, isReaderToken, type ReaderToken, type TokenEnd } from '../../reader-token.ts';

/** Reads the existing tokens, by their hash in hex. @throws IndexerError with a STORE_ code */
export type ReadTokens = (hashes: readonly Buffer[]) => Promise<ReadonlyMap<string, ReaderToken>>;

/** Response to a caller that is refused: a status and a message. */
export interface TokenRefusal {
  readonly status: 401 | 403 | 503;
  readonly error: string;
}

export type TokenCheck = { readonly token: ReaderToken; readonly secret: string } | TokenRefusal;

/** Minimum time between two reads for new requests, milliseconds. */
const readIntervalMs = 50;
/** Maximum number of waiting requests; further requests are refused with a 503. */
const maxWaiting = 1_000;

const refusalTexts: Readonly<Record<TokenEnd | 'unknown', string>> = {
  unknown: 'unknown token: send one of `ledger-indexer reader-token create`, as Authorization: Bearer lir_…',
  expired: 'this token has expired: ask for a new one (`ledger-indexer reader-token create`)',
  revoked: 'this token was revoked, or its role was dropped: ask for a new one (`ledger-indexer reader-token create`)',
};

interface PendingLookup {
  readonly hash: Buffer;
  readonly answer: (token: ReaderToken | undefined) => void;
  readonly fail: (thrown: unknown) => void;
}

export class ReaderTokens {
  readonly #read: ReadTokens;
  readonly #lookAgainMs: number;
  #asking: PendingLookup[] = [];
  #reading = false;
  #looking: NodeJS.Timeout | undefined;
  #closed = false;
  #failures = 0;
  /** The listeners for the end of each token, by the hash of the token in hex. */
  readonly #watched = new Map<string, { readonly hash: Buffer; readonly listeners: Set<(end: TokenEnd) => void> }>();

  /**
   * @param recheckMs interval of checking the tokens of open streams
   * @param onFailing called with the first of consecutive failures to read
   */
  constructor(readTokens: ReadTokens, recheckMs: number, onFailing: (thrown: unknown) => void = () => undefined) {
    this.#read = this.#counted(readTokens, onFailing);
    this.#lookAgainMs = recheckMs;
  }

  /** Number of failed reads. */
  get failures(): number {
    return this.#failures;
  }

  #counted(readTokens: ReadTokens, onFailing: (thrown: unknown) => void): ReadTokens {
    let isFailing = false;
    return async (hashes) => {
      try {
        const tokensByHash = await readTokens(hashes);
        isFailing = false;
        return tokensByHash;
      } catch (thrown) {
        this.#failures += 1;
        if (!isFailing) onFailing(thrown);
        isFailing = true;
        throw thrown;
      }
    };
  }

  /** Checks the token of a request. Resolves to undefined if the request has no token. Never rejects. */
  async check({ headers: { authorization } }: IncomingMessage): Promise<TokenCheck | undefined> {
    if (authorization === undefined) return undefined;
    const [, secret = ''] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (!isReaderToken(secret)) return { status: 401, error: refusalTexts.unknown };
    if (this.#closed || this.#asking.length >= maxWaiting) {
      return { status: 503, error: 'too many token lookups: try again' };
    }
    try {
      const token = await this.#find(hashOf(secret));
      if (token === undefined) return { status: 401, error: refusalTexts.unknown };
      return token.ended === undefined ? { token, secret } : { status: 401, error: refusalTexts[token.ended] };
    } catch {
      return { status: 503, error: 'tokens cannot be looked up now: try again' };
    }
  }

  /** Calls `onEnd` once, when the token ends. @returns a function that ends the watch */
  watch(secret: string, onEnd: (end: TokenEnd) => void): () => void {
    const hash = hashOf(secret);
    const key = hash.toString('hex');
    const watchedToken = this.#watched.get(key) ?? { hash, listeners: new Set() };
    this.#watched.set(key, watchedToken);
    watchedToken.listeners.add(onEnd);
    this.#lookLater();
    return () => {
      watchedToken.listeners.delete(onEnd);
      if (watchedToken.listeners.size === 0 && this.#watched.get(key) === watchedToken) this.#watched.delete(key);
    };
  }

  /** Stops all reads. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#looking);
  }

  #find(hash: Buffer): Promise<ReaderToken | undefined> {
    return new Promise((resolve, reject) => {
      this.#asking.push({ hash, answer: resolve, fail: reject });
      if (!this.#reading) void this.#readAll();
    });
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    while (this.#asking.length > 0) {
      const pendingLookups = this.#asking;
      this.#asking = [];
      try {
        const tokensByHash = await this.#read(pendingLookups.map(({ hash }) => hash));
        for (const { hash, answer } of pendingLookups) answer(tokensByHash.get(hash.toString('hex')));
      } catch (thrown) {
        for (const { fail } of pendingLookups) fail(thrown);
      }
      await new Promise((resolve) => setTimeout(resolve, readIntervalMs));
    }
    this.#reading = false;
  }

  #lookLater(): void {
    if (this.#closed || this.#looking !== undefined || this.#watched.size === 0) return;
    this.#looking = setTimeout(() => void this.#look(), this.#lookAgainMs).unref();
  }

  /**
   * Checks the tokens of open streams. If the read fails, it is retried later. Until then, the streams cannot read from
   * the database either.
   */
  async #look(): Promise<void> {
    const watchedTokens = [...this.#watched];
    const tokensByHash = await this.#read(watchedTokens.map(([, { hash }]) => hash)).catch(() => undefined);
    this.#looking = undefined;
    for (const [key, { listeners }] of tokensByHash === undefined ? [] : watchedTokens) {
      const token = tokensByHash?.get(key);
      const end = token === undefined ? 'revoked' : token.ended;
      if (end === undefined) continue;
      this.#watched.delete(key);
      for (const listener of listeners) listener(end);
    }
    this.#lookLater();
  }
}
