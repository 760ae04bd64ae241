/**
 * Queue for the writes of one stream. Several writes may run at the same time, each on a separate connection, but they
 * commit in the order in which they were added. If a write fails, all later writes fail too, and the queue cannot be
 * used again.
 */
import type { StreamObserver } from '../ports/observer.ts';

/**
 * One write. It does not commit before `predecessor` has committed. `predecessor` is undefined if no write is running
 * before it.
 */
export type WriteFunction = (predecessor: Promise<void> | undefined) => Promise<void>;

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
    // The next caller that waits receives the failure. Until then, the rejection must not end the process.
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
  add(write: WriteFunction): void {
    const pendingWrite = write(this.#underWay.at(-1));
    this.#underWay = [...this.#underWay, pendingWrite];
    void this.#watch(pendingWrite);
  }

  async #watch(pendingWrite: Promise<void>): Promise<void> {
    try {
      await pendingWrite;
      this.#underWay = this.#underWay.filter((other) => other !== pendingWrite);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Resolves when fewer than `lanes` writes are running. @throws the error of the first failed write */
  async room(lanes = this.#lanes): Promise<void> {
    while (this.#underWay.length >= lanes) await this.orFailure(this.oldest ?? Promise.resolve());
    // Throws a failure that has not been reported yet.
    await this.orFailure(Promise.resolve());
  }

  /** Resolves when all added writes are committed. @throws the error of the first failed write */
  async drain(): Promise<void> {
    while (this.#underWay.length > 0) await this.orFailure(this.oldest ?? Promise.resolve());
  }

  /** Resolves to the result of `work`, unless a write fails first. @throws the error of the first failed write */
  orFailure<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#failure, work]);
  }
}

// Distinguishes, while the stream waits for frames, an idle ledger from a slow database.

/**
 * Milliseconds. If a write runs this long while the stream has no other work, the stream counts as waiting for the
 * database.
 */
const slowMs = 250;

/**
 * While the stream waits for frames, reports what it waits for. This is the source, or the database if one write does
 * not end. The database is reported even if a write slot is free, because the checkpoint cannot advance before that
 * write ends.
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
