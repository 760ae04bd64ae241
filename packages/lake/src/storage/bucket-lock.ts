/**
 * One export at a time under a prefix of a bucket: an object that is put where there is none, and touched while it is held. That
 * of a process of this machine that is gone, and any that was not touched for a minute, is taken over, by whoever comes first.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { BucketClient, ObjectBody } from './bucket-client.ts';
import { busy, type Holder, isAlive, staleAfterMs, touchEveryMs } from './folder-lock.ts';

export class BucketLock {
  readonly #client: BucketClient;
  readonly #key: string;
  readonly #path: string;
  #etag: string | undefined;
  #lost = false;
  #touching: Promise<void> = Promise.resolve();
  #touches = 0;

  /** @param path of the lake, for whoever reads an error */
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

  /** @throws LakeError EXPORT_BUSY where somebody has taken it over, because it could not be touched in time */
  assertHeld(): void {
    if (this.#lost) throw busy(this.#path, undefined);
  }

  async #take(): Promise<void> {
    this.#etag = await this.#client.put(this.#key, this.#body(), { none: true });
    if (this.#etag !== undefined) return;
    const there = await this.#client.get(this.#key);
    if (there === undefined) throw busy(this.#path, undefined);
    const holder = holderOf(there.text);
    const isStale =
      holder?.host === hostname() ? holder.pid === process.pid || !isAlive(holder.pid) : there.ageMs > staleAfterMs;
    if (isStale) this.#etag = await this.#client.put(this.#key, this.#body(), { match: there.etag });
    if (this.#etag === undefined) throw busy(this.#path, holder);
  }

  /** One that fails for a moment is followed by another; the object is another one once somebody has taken it over. */
  async #touch(): Promise<void> {
    if (this.#lost || this.#etag === undefined) return;
    try {
      const etag = await this.#client.put(this.#key, this.#body(), { match: this.#etag });
      if (etag === undefined) this.#lost = true;
      else this.#etag = etag;
    } catch {
      // The next one tells.
    }
  }

  /** Never twice the same, so that each has an ETag of its own. */
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
