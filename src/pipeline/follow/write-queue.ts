/**
 * The writes of one stream: several may be under way, each on a connection of its own, but they commit in the order they
 * were added. The first failure takes all later ones with it; after it the queue is of no use any more.
 */
import type { StreamObserver } from '../ports/observer.ts';

/** One write; it commits nothing before `predecessor` has. Undefined: nothing is under way before it. */
export type Write = (predecessor: Promise<void> | undefined) => Promise<void>;

export class WriteQueue {
  readonly #lanes: number;
  #underWay: readonly Promise<void>[] = [];
  readonly #failure: Promise<never>;
  #fail: (thrown: unknown) => void = () => undefined;

  /** @param lanes how many writes may be under way at the same time */
  constructor(lanes: number) {
    this.#lanes = lanes;
    this.#failure = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    // Whoever waits next sees it; until then it must not end the process.
    this.#failure.catch(() => undefined);
  }

  /** How many writes are under way. */
  get underWay(): number {
    return this.#underWay.length;
  }

  /** The write under way that was added first. */
  get oldest(): Promise<void> | undefined {
    return this.#underWay[0];
  }

  /** Starts a write. Call it when there is room. */
  add(write: Write): void {
    const written = write(this.#underWay.at(-1));
    this.#underWay = [...this.#underWay, written];
    void this.#watch(written);
  }

  async #watch(written: Promise<void>): Promise<void> {
    try {
      await written;
      this.#underWay = this.#underWay.filter((other) => other !== written);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Resolves when one more write may be under way, of at most `lanes`. @throws what the first failed write threw */
  async room(lanes = this.#lanes): Promise<void> {
    while (this.#underWay.length >= lanes) await this.orFailure(this.oldest ?? Promise.resolve());
    // A failure that nobody has seen yet.
    await this.orFailure(Promise.resolve());
  }

  /** Resolves when everything added is committed. @throws what the first failed write threw */
  async drain(): Promise<void> {
    while (this.#underWay.length > 0) await this.orFailure(this.oldest ?? Promise.resolve());
  }

  /** The result of other work, unless a write fails before. @throws what the first failed write threw */
  orFailure<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#failure, work]);
  }
}

// Tells apart, while the stream waits for frames, a quiet ledger from a database that does not come to its end.

/** Under way for so long while nothing else is to be done, a write is what is waited for. */
const slowMs = 250;

/**
 * Whoever waits for frames waits for the source; for the database while one write does not end, though there may be room
 * for more: nothing else holds the checkpoint back then.
 * @returns ends the watch, when the frames are there
 */
export function watchSlowWrites(writes: WriteQueue, observer: StreamObserver): () => void {
  observer.busyWith('source');
  let { oldest } = writes;
  if (oldest === undefined) return () => undefined;
  const watch = setInterval(() => {
    observer.busyWith(oldest !== undefined && oldest === writes.oldest ? 'database' : 'source');
    oldest = writes.oldest;
    if (oldest === undefined) clearInterval(watch);
  }, slowMs);
  return () => {
    clearInterval(watch);
  };
}
