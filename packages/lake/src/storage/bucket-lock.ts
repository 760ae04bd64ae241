/**
 * A lock under a prefix of a bucket, so that only one export runs at a time. The lock is an object that is created only
 * if it does not exist, and is touched while the lock is held. Another export may take over the lock if its process on
 * this machine has ended, or if the lock was not touched for a minute.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { BucketClient, ObjectBody } from './bucket-client.ts';
import { lockedByProcess, type Holder, isAlive, staleAfterMs, touchEveryMs } from './folder-lock.ts';

export class BucketLock {
  readonly #client: BucketClient;
  readonly #key: string;
  readonly #path: string;
  #etag: string | undefined;
  #lost = false;
  #touching: Promise<void> = Promise.resolve();
  #touches = 0;

  /** @param path of the lake, for error messages */
  constructor(client: BucketClient, key: string, path: string) {
    this.#client = client;
    this.#key = key;
    this.#path = path;
  }

  async while<T>(work: () => Promise<T>): Promise<T> {
    await this.#take();
    const timer = setInterval(() => {
      this.#touching = this.#touch();
    }, touchEveryMs);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      await this.#touching;
      if (!this.#lost) await this.#client.remove(this.#key).catch(() => undefined);
    }
  }

  /** @throws LakeError EXPORT_BUSY if another process has taken over the lock, because it was not touched in time */
  assertHeld(): void {
    if (this.#lost) throw lockedByProcess(this.#path, undefined);
  }

  async #take(): Promise<void> {
    this.#etag = await this.#client.put(this.#key, this.#body(), { none: true });
    if (this.#etag !== undefined) return;
    const lockObject = await this.#client.get(this.#key);
    if (lockObject === undefined) throw lockedByProcess(this.#path, undefined);
    const holder = holderOf(lockObject.text);
    const isStale =
      holder?.host === hostname()
        ? holder.pid === process.pid || !isAlive(holder.pid)
        : lockObject.ageMs > staleAfterMs;
    if (isStale) this.#etag = await this.#client.put(this.#key, this.#body(), { match: lockObject.etag });
    if (this.#etag === undefined) throw lockedByProcess(this.#path, holder);
  }

  /**
   * Touches the lock. Temporary failures are ignored, because the next touch follows. A changed ETag means that another
   * process has taken over the lock.
   */
  async #touch(): Promise<void> {
    if (this.#lost || this.#etag === undefined) return;
    try {
      const etag = await this.#client.put(this.#key, this.#body(), { match: this.#etag });
      if (etag === undefined) this.#lost = true;
      else this.#etag = etag;
    } catch {
      // The next touch will detect it.
    }
  }

  /** A unique body, so that each write has its own ETag. */
  #body(): ObjectBody {
    this.#touches += 1;
    const holder = { host: hostname(), pid: process.pid, at: Date.now(), touches: this.#touches };
    const bytes = Buffer.from(JSON.stringify(holder));
    return { bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex'), open: () => bytes };
  }
}

function holderOf(text: string): Holder | undefined {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return undefined;
  }
}
