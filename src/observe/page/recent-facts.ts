/**
 * Facts from the database for the page. They are read at most once a second, only while there are viewers, and one read
 * at a time.
 */
import { IndexerError } from '../../errors/indexer-error.ts';

export interface TemplateFacts {
  /** `package:Module:Entity` */
  readonly name: string;
  readonly active: number;
}

/** One update without its contents. */
export interface UpdateFacts {
  readonly offset: number;
  readonly kind: string;
  /** ISO 8601 */
  readonly recordTime: string | null;
  readonly events: number;
  /** Templates of the update's events, `package:Module:Entity`; not all of them if there are many. */
  readonly templates: readonly string[];
}

export interface RecentFacts {
  /** By number of active contracts, in descending order. */
  readonly templates: readonly TemplateFacts[];
  /** The newest first. */
  readonly updates: readonly UpdateFacts[];
}

/** Reads the facts from the database, with limits of its own on time and rows. */
export type ReadRecentFacts = () => Promise<RecentFacts>;

/** The facts and their age. */
export interface RecentFactsResult {
  readonly facts: RecentFacts | null;
  /** Time of the last successful read, milliseconds since 1970; null if there was none. */
  readonly readAt: number | null;
  /** Error code of the last read; null if it succeeded. */
  readonly failure: string | null;
}

export class RecentFactsReader {
  readonly #read: ReadRecentFacts;
  readonly #leastMs: number;
  #begunAtMs = -Infinity;
  #latest: RecentFactsResult = { facts: null, readAt: null, failure: null };
  #reading = false;

  /** @param everyMs minimum interval between two reads; calls in between start none */
  constructor(readRecent: ReadRecentFacts, everyMs: number) {
    this.#read = readRecent;
    // Tolerance for a timer that fires early.
    this.#leastMs = 0.9 * everyMs;
  }

  get latest(): RecentFactsResult {
    return this.#latest;
  }

  /** Starts a read unless one is running or was just started. Never rejects. */
  async refresh(): Promise<void> {
    const nowMs = performance.now();
    if (this.#reading || nowMs - this.#begunAtMs < this.#leastMs) return;
    this.#begunAtMs = nowMs;
    this.#reading = true;
    try {
      this.#latest = { facts: await this.#read(), readAt: Date.now(), failure: null };
    } catch (thrown) {
      // The previous facts remain on the page, with their age.
      this.#latest = { ...this.#latest, failure: thrown instanceof IndexerError ? thrown.code : 'UNEXPECTED' };
    } finally {
      this.#reading = false;
    }
  }
}
