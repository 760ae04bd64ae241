/**
 * Assigns turns at a few database connections to readers in rotation. A reader with a thousand simultaneous requests
 * delays only its own requests. Other readers wait for at most one of its turns.
 */
import { elapsed } from '../../config/pause.ts';

/**
 * Work that waits for a turn. Several readers may wait for the same work. It runs at the first turn that any of these
 * readers gets.
 */
export class SharedWork<T> {
  readonly #work: () => Promise<T>;
  readonly #finish: (result: Promise<T>) => void;
  readonly result: Promise<T>;
  #hasBegun = false;

  constructor(work: () => Promise<T>) {
    this.#work = work;
    let finishTask: (result: Promise<T>) => void = () => undefined;
    this.result = new Promise((resolve) => (finishTask = resolve));
    this.#finish = finishTask;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Runs the work once. Never rejects, but `result` may. */
  async run(): Promise<void> {
    this.#hasBegun = true;
    const result = this.#work();
    this.#finish(result);
    await result.catch(() => undefined);
  }
}

type QueuedTask = Pick<SharedWork<unknown>, 'hasBegun' | 'run'>;

/**
 * How long the next turn on a connection is delayed.
 * @param turnMs time that the previous turn took
 * @param waitingCount work that waits for a turn
 */
export type RestAfterTurn = (turnMs: number, waitingCount: number) => number;

export class FairQueue {
  readonly #atOnce: number;
  readonly #restAfter: RestAfterTurn;
  /** Pending work by reader. Readers are in the order of their next turns. */
  readonly #queues = new Map<string, Set<QueuedTask>>();
  #running = 0;

  /** @param maxConcurrency maximum number of concurrent turns */
  constructor(maxConcurrency: number, restAfter: RestAfterTurn = () => 0) {
    this.#atOnce = maxConcurrency;
    this.#restAfter = restAfter;
  }

  /** Runs the work at a turn of this reader, unless a turn of another reader runs it first. */
  wait(reader: string, work: QueuedTask): void {
    const queue = this.#queues.get(reader) ?? new Set();
    this.#queues.set(reader, queue.add(work));
    this.#begin();
  }

  /** Runs work for which no other reader waits. */
  take<T>(reader: string, work: () => Promise<T>): Promise<T> {
    const task = new SharedWork(work);
    this.wait(reader, task);
    return task.result;
  }

  #begin(): void {
    while (this.#running < this.#atOnce) {
      const next = this.#next();
      if (next === undefined) return;
      this.#running += 1;
      void this.#run(next);
    }
  }

  async #run(work: QueuedTask): Promise<void> {
    const beganAt = performance.now();
    await work.run();
    const restMs = this.#restAfter(performance.now() - beganAt, this.#waitingCount());
    if (restMs > 0) await elapsed(restMs);
    this.#running -= 1;
    this.#begin();
  }

  #waitingCount(): number {
    let count = 0;
    for (const queue of this.#queues.values()) count += queue.size;
    return count;
  }

  /** Returns the oldest work of the first reader and moves that reader to the end. */
  #next(): QueuedTask | undefined {
    for (const [reader, queue] of this.#queues) {
      this.#queues.delete(reader);
      const first = takeFirst(queue);
      if (first === undefined) continue;
      if (queue.size > 0) this.#queues.set(reader, queue);
      return first;
    }
    return undefined;
  }
}

/** Removes and returns the oldest work of the queue, skipping work that turns of other readers have already run. */
function takeFirst(queue: Set<QueuedTask>): QueuedTask | undefined {
  for (const work of queue) {
    queue.delete(work);
    if (!work.hasBegun) return work;
  }
  return undefined;
}
