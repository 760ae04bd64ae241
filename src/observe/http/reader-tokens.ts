/**
 * Reader tokens. They are looked up by hash, and checked again while streams that they opened are running. Only one
 * read runs at a time. The next read is for all requests that have arrived in the meantime. Therefore a caller that
 * guesses tokens causes only a few reads per second in the database.
 */
import type { IncomingMessage } from 'node:http';
import { hashOf, looksLikeToken, type ReaderToken, type TokenEnd } from '../../reader-token.ts';

/** Reads the existing tokens, by their hash in hex. @throws IndexerError with a STORE_ code */
export type ReadTokens = (hashes: readonly Buffer[]) => Promise<ReadonlyMap<string, ReaderToken>>;

/** Response to a caller that is refused: a status and a message. */
export interface TokenRefusal {
  readonly status: 401 | 503;
  readonly error: string;
}

export type TokenCheck = { readonly token: ReaderToken; readonly secret: string } | TokenRefusal;

/** Minimum time between two reads for new requests, milliseconds. */
const betweenReadsMs = 50;
/** Maximum number of waiting requests; further requests are refused with a 503. */
const mostWaiting = 1_000;

const refusals: Readonly<Record<TokenEnd | 'unknown', string>> = {
  unknown: 'unknown token: send one of `ledger-indexer reader-token create`, as Authorization: Bearer lir_…',
  expired: 'this token has expired: ask for a new one (`ledger-indexer reader-token create`)',
  revoked: 'this token was revoked, or its role was dropped: ask for a new one (`ledger-indexer reader-token create`)',
};

interface Asking {
  readonly hash: Buffer;
  readonly answer: (found: ReaderToken | undefined) => void;
  readonly fail: (thrown: unknown) => void;
}

export class ReaderTokens {
  readonly #read: ReadTokens;
  readonly #lookAgainMs: number;
  #asking: Asking[] = [];
  #reading = false;
  #looking: NodeJS.Timeout | undefined;
  #closed = false;
  #failures = 0;
  /** The listeners for the end of each token, by the hash of the token in hex. */
  readonly #watched = new Map<string, { readonly hash: Buffer; readonly listeners: Set<(end: TokenEnd) => void> }>();

  /**
   * @param lookAgainMs interval of checking the tokens of open streams
   * @param onFailing called with the first of consecutive failures to read
   */
  constructor(read: ReadTokens, lookAgainMs: number, onFailing: (thrown: unknown) => void = () => undefined) {
    this.#read = this.#counted(read, onFailing);
    this.#lookAgainMs = lookAgainMs;
  }

  /** Number of failed reads. */
  get failures(): number {
    return this.#failures;
  }

  #counted(read: ReadTokens, onFailing: (thrown: unknown) => void): ReadTokens {
    let isFailing = false;
    return async (hashes) => {
      try {
        const found = await read(hashes);
        isFailing = false;
        return found;
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
    if (!looksLikeToken(secret)) return { status: 401, error: refusals.unknown };
    if (this.#closed || this.#asking.length >= mostWaiting) {
      return { status: 503, error: 'too many token lookups: try again' };
    }
    try {
      const token = await this.#find(hashOf(secret));
      if (token === undefined) return { status: 401, error: refusals.unknown };
      return token.ended === undefined ? { token, secret } : { status: 401, error: refusals[token.ended] };
    } catch {
      return { status: 503, error: 'tokens cannot be looked up now: try again' };
    }
  }

  /** Calls `onEnd` once, when the token ends. @returns a function that ends the watch */
  watch(secret: string, onEnd: (end: TokenEnd) => void): () => void {
    const hash = hashOf(secret);
    const key = hash.toString('hex');
    const watched = this.#watched.get(key) ?? { hash, listeners: new Set() };
    this.#watched.set(key, watched);
    watched.listeners.add(onEnd);
    this.#lookLater();
    return () => {
      watched.listeners.delete(onEnd);
      if (watched.listeners.size === 0 && this.#watched.get(key) === watched) this.#watched.delete(key);
    };
  }

  /** Stops all reads. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#looking);
  }

  #find(hash: Buffer): Promise<ReaderToken | undefined> {
    return new Promise((answer, fail) => {
      this.#asking.push({ hash, answer, fail });
      if (!this.#reading) void this.#readAll();
    });
  }

  async #readAll(): Promise<void> {
    this.#reading = true;
    while (this.#asking.length > 0) {
      const asking = this.#asking;
      this.#asking = [];
      try {
        const found = await this.#read(asking.map(({ hash }) => hash));
        for (const { hash, answer } of asking) answer(found.get(hash.toString('hex')));
      } catch (thrown) {
        for (const { fail } of asking) fail(thrown);
      }
      await new Promise((resolve) => setTimeout(resolve, betweenReadsMs));
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
    const watched = [...this.#watched];
    const found = await this.#read(watched.map(([, { hash }]) => hash)).catch(() => undefined);
    this.#looking = undefined;
    for (const [key, { listeners }] of found === undefined ? [] : watched) {
      const token = found?.get(key);
      const end = token === undefined ? 'revoked' : token.ended;
      if (end === undefined) continue;
      this.#watched.delete(key);
      for (const listener of listeners) listener(end);
    }
    this.#lookLater();
  }
}
