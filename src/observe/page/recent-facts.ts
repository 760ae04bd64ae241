/** What the page shows of the database: read at most once a second, only while somebody looks, one read at a time. */
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
  /** Templates of its events, `package:Module:Entity`; some of them when there are many. */
  readonly templates: readonly string[];
}

export interface RecentFacts {
  /** Those with most active contracts first. */
  readonly templates: readonly TemplateFacts[];
  /** The newest first. */
  readonly updates: readonly UpdateFacts[];
}

/** Reads them from the database. Has limits of its own on time and rows. */
export type ReadRecentFacts = () => Promise<RecentFacts>;

/** The facts, and how fresh they are. */
export interface ReadFacts {
  readonly facts: RecentFacts | null;
  /** Milliseconds since 1970 of the last read that succeeded. */
  readonly readAt: number | null;
  /** Code of the failure, when the last read failed. */
  readonly failure: string | null;
}

export class RecentReader {
  readonly #read: ReadRecentFacts;
  readonly #leastMs: number;
  #begunAtMs = -Infinity;
  #latest: ReadFacts = { facts: null, readAt: null, failure: null };
  #reading = false;

  /** @param everyMs how often a read is asked for; those who come in between do not cause more of them */
  constructor(read: ReadRecentFacts, everyMs: number) {
    this.#read = read;
    // A timer may be a little early.
    this.#leastMs = 0.9 * everyMs;
  }

  get latest(): ReadFacts {
    return this.#latest;
  }

  /** Begins a read unless one is under way or was begun just now; never rejects. */
  async refresh(): Promise<void> {
    const nowMs = performance.now();
    if (this.#reading || nowMs - this.#begunAtMs < this.#leastMs) return;
    this.#begunAtMs = nowMs;
    this.#reading = true;
    try {
      this.#latest = { facts: await this.#read(), readAt: Date.now(), failure: null };
    } catch (thrown) {
      // What was read before stays on the page, with its age.
      this.#latest = { ...this.#latest, failure: thrown instanceof IndexerError ? thrown.code : 'UNEXPECTED' };
    } finally {
      this.#reading = false;
    }
  }
}
