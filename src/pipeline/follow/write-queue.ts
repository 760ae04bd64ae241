/**
 * The writes of one stream: several may run at the same time, each on a connection of its own, but they commit in the
 * order in which they were added. The first failure fails all later writes, and the queue cannot be used again.
 */
import type { StreamObserver } from '../ports/observer.ts';

/** One write; it does not commit before `predecessor` has. Undefined: no write runs before it. */
export type Write = (predecessor: Promise<void> | undefined) => Promise<void>;

export class WriteQueue {
  readonly #lanes: number;
  #underWay: readonly Promise<void>[] = [];
  readonly #failure: Promise<never>;
  #fail: (thrown: unknown) => void = () => undefined;

  /** @param lanes maximum number of concurrent writes */
  constructor(lanes: number) {
    this.#lanes = lanes;
    this.#failure = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    // The next waiter receives it; until then it must not end the process.
    this.#failure.catch(() => undefined);
  }

  /** Number of running writes. */
  get underWay(): number {
    return this.#underWay.length;
  }

  /** The running write that was added first. */
  get oldest(): Promise<void> | undefined {
    return this.#underWay[0];
  }

  /** Starts a write. Call it when a slot is free. */
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

  /** Resolves when one more write may run, of at most `lanes`. @throws the error of the first failed write */
  async room(lanes = this.#lanes): Promise<void> {
    while (this.#underWay.length >= lanes) await this.orFailure(this.oldest ?? Promise.resolve());
    // Throws a failure that has not been reported yet.
    await this.orFailure(Promise.resolve());
  }

  /** Resolves when everything added is committed. @throws the error of the first failed write */
  async drain(): Promise<void> {
    while (this.#underWay.length > 0) await this.orFailure(this.oldest ?? Promise.resolve());
  }

  /** The result of other work, unless a write fails before. @throws the error of the first failed write */
  orFailure<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#failure, work]);
  }
}

// Distinguishes, while the stream waits for frames, a quiet ledger from a database that does not finish.

/** A write that runs this long while there is nothing more to do counts as the reason for waiting. */
const slowMs = 250;

/**
 * A wait for frames counts as waiting for the source, or for the database while one write does not end, even if a slot
 * is free: nothing more holds the checkpoint back then.
 * @returns a function that ends the watch when the frames have arrived
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
