/** Facts from the database for the page: read at most once a second, only while there are viewers, one read at a time. */
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
  /** Templates of its events, `package:Module:Entity`; a subset if there are many. */
  readonly templates: readonly string[];
}

export interface RecentFacts {
  /** By number of active contracts, descending. */
  readonly templates: readonly TemplateFacts[];
  /** Newest first. */
  readonly updates: readonly UpdateFacts[];
}

/** Reads them from the database. Has its own limits on time and rows. */
export type ReadRecentFacts = () => Promise<RecentFacts>;

/** The facts and their age. */
export interface ReadFacts {
  readonly facts: RecentFacts | null;
  /** Milliseconds since 1970 of the last read that succeeded. */
  readonly readAt: number | null;
  /** Error code, if the last read failed. */
  readonly failure: string | null;
}

export class RecentReader {
  readonly #read: ReadRecentFacts;
  readonly #leastMs: number;
  #begunAtMs = -Infinity;
  #latest: ReadFacts = { facts: null, readAt: null, failure: null };
  #reading = false;

  /** @param everyMs minimum interval of reads; calls in between start no further ones */
  constructor(read: ReadRecentFacts, everyMs: number) {
    this.#read = read;
    // Tolerance for a timer that fires early.
    this.#leastMs = 0.9 * everyMs;
  }

  get latest(): ReadFacts {
    return this.#latest;
  }

  /** Starts a read unless one is running or was started just now; never rejects. */
  async refresh(): Promise<void> {
    const nowMs = performance.now();
    if (this.#reading || nowMs - this.#begunAtMs < this.#leastMs) return;
    this.#begunAtMs = nowMs;
    this.#reading = true;
    try {
      this.#latest = { facts: await this.#read(), readAt: Date.now(), failure: null };
    } catch (thrown) {
      // The previous facts stay on the page, with their age.
      this.#latest = { ...this.#latest, failure: thrown instanceof IndexerError ? thrown.code : 'UNEXPECTED' };
    } finally {
      this.#reading = false;
    }
  }
}
