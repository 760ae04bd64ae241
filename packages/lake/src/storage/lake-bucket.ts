/**
 * A lake under a prefix of a bucket. A file is built on the local disk and uploaded as one object. Writing an object is
 * atomic, so the bucket never contains an incomplete file. The local file has no name and is removed with the process.
 */
import { createHash, randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { BucketClient, ObjectBody } from './bucket-client.ts';
import { BucketLock } from './bucket-lock.ts';
import { lockName } from './folder-lock.ts';
import type { LakeStorage, OnOperation, UnfinishedFile, WrittenFile } from './lake-storage.ts';

export class LakeBucket implements LakeStorage {
  readonly path: string;
  readonly #client: BucketClient;
  readonly #prefix: string;
  readonly #lock: BucketLock;
  readonly #did: OnOperation;

  /** @param prefix of all keys, without leading and trailing slashes; empty for the entire bucket */
  constructor(path: string, client: BucketClient, prefix: string, onOperation: OnOperation = () => undefined) {
    this.path = path;
    this.#client = client;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#lock = new BucketLock(client, this.#key(lockName), path);
    this.#did = onOperation;
  }

  async prepare(): Promise<void> {}

  whileLocked<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.while(work);
  }

  async sweep(): Promise<void> {}

  async list(folder: string): Promise<readonly string[]> {
    return [...(await this.sizes(folder)).keys()];
  }

  async sizes(folder: string): Promise<ReadonlyMap<string, number>> {
    const prefix = this.#key(`${folder}/`);
    const { objects } = await this.#client.list(prefix);
    return new Map([...objects].map(([key, bytes]) => [key.slice(prefix.length), bytes]));
  }

  async folders(): Promise<readonly string[]> {
    const { folders } = await this.#client.list(this.#prefix);
    return folders.map((folder) => folder.slice(this.#prefix.length, -1));
  }

  async isEmpty(): Promise<boolean> {
    const { objects, folders } = await this.#client.list(this.#prefix);
    return folders.length === 0 && [...objects.keys()].every((key) => key === this.#key(lockName));
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#client.get(this.#key(name)))?.text;
  }

  readPart(name: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#client.getPart(this.#key(name), start, end);
  }

  async begin(): Promise<UnfinishedFile> {
    const path = join(tmpdir(), `ledger-indexer-lake-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600);
    await unlink(path);
    return new BufferedFile(file, (name, body) => this.#put(name, body));
  }

  async write(name: string, text: string): Promise<WrittenFile> {
    const body = bodyOf(text);
    await this.#put(name, body);
    return body;
  }

  async writeIfAbsent(name: string, text: string): Promise<boolean> {
    this.#lock.assertHeld();
    const key = this.#key(name);
    const etag = await this.#client.put(key, bodyOf(text), { none: true });
    // If the response to the first attempt was lost, the existing object is ours.
    if (etag === undefined && (await this.#client.get(key))?.text !== text) return false;
    this.#did(`put ${name}`);
    return true;
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.#lock.assertHeld();
      await this.#client.remove(this.#key(name));
      this.#did(`remove ${name}`);
    }
  }

  async #put(name: string, body: ObjectBody): Promise<void> {
    this.#lock.assertHeld();
    await this.#client.put(this.#key(name), body);
    this.#did(`put ${name}`);
  }

  #key(name: string): string {
    return `${this.#prefix}${name}`;
  }
}

class BufferedFile implements UnfinishedFile {
  readonly #file: FileHandle;
  readonly #put: (name: string, body: ObjectBody) => Promise<void>;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(file: FileHandle, putObject: (name: string, body: ObjectBody) => Promise<void>) {
    this.#file = file;
    this.#put = putObject;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    await this.#file.appendFile(bytes);
    this.#bytes += bytes.byteLength;
  }

  async finish(name: string): Promise<WrittenFile> {
    const [bytes, sha256] = [this.#bytes, this.#hash.digest('hex')];
    const createStream = (): Readable => this.#file.createReadStream({ start: 0, autoClose: false });
    await this.#put(name, { bytes, sha256, open: createStream });
    await this.#file.close();
    return { bytes, sha256 };
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined);
  }
}

function bodyOf(text: string): ObjectBody {
  const bytes = Buffer.from(text);
  return { bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex'), open: () => bytes };
}
