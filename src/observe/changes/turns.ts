/**
 * Turns at a few connections of the database, given to readers in rotation: a reader that asks a thousand times at once waits behind
 * itself, and others wait for one of its turns at most.
 */

/** Work that waits for a turn. Several readers may wait for the same: it is done at the first turn that one of them has. */
export class SharedWork<T> {
  readonly #work: () => Promise<T>;
  readonly #finish: (result: Promise<T>) => void;
  readonly result: Promise<T>;
  #hasBegun = false;

  constructor(work: () => Promise<T>) {
    this.#work = work;
    let finish: (result: Promise<T>) => void = () => undefined;
    this.result = new Promise((resolve) => (finish = resolve));
    this.#finish = finish;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Does the work once. Never rejects; `result` may. */
  async run(): Promise<void> {
    this.#hasBegun = true;
    const result = this.#work();
    this.#finish(result);
    await result.catch(() => undefined);
  }
}

type Waiting = Pick<SharedWork<unknown>, 'hasBegun' | 'run'>;

export class Turns {
  readonly #atOnce: number;
  /** By reader, in the order in which they have their next turns. */
  readonly #queues = new Map<string, Set<Waiting>>();
  #running = 0;

  /** @param atOnce turns at the same time, at most */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Does the work at a turn of this reader, unless it is done before that at a turn of another one. */
  wait(reader: string, work: Waiting): void {
    const queue = this.#queues.get(reader) ?? new Set();
    this.#queues.set(reader, queue.add(work));
    this.#begin();
  }

  /** Does something that no other reader waits for. */
  take<T>(reader: string, work: () => Promise<T>): Promise<T> {
    const alone = new SharedWork(work);
    this.wait(reader, alone);
    return alone.result;
  }

  #begin(): void {
    while (this.#running < this.#atOnce) {
      const next = this.#next();
      if (next === undefined) return;
      this.#running += 1;
      void this.#run(next);
    }
  }

  async #run(work: Waiting): Promise<void> {
    await work.run();
    this.#running -= 1;
    this.#begin();
  }

  /** The oldest work of the first reader, who then goes to the end. */
  #next(): Waiting | undefined {
    for (const [reader, queue] of this.#queues) {
      this.#queues.delete(reader);
      const first = firstOf(queue);
      if (first === undefined) continue;
      if (queue.size > 0) this.#queues.set(reader, queue);
      return first;
    }
    return undefined;
  }
}

/** Takes it from the queue, with what was done before it at turns of others. */
function firstOf(queue: Set<Waiting>): Waiting | undefined {
  for (const work of queue) {
    queue.delete(work);
    if (!work.hasBegun) return work;
  }
  return undefined;
}
