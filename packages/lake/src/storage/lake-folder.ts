/**
 * The folder of a lake and every operation on it. A file is written under a temporary name, synced to disk, and
 * renamed. The rename is also synced. After any interruption, a name refers to a complete file or to none. Symbolic
 * links in the folder are refused, because they lead to folders and files outside of the lake.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { refusedBy } from '../errors/lake-error.ts';
import { lockName, whileLocked } from './folder-lock.ts';
import type { LakeStorage, OnOperation, UnfinishedFile, WrittenFile } from './lake-storage.ts';

/** Extension of files under construction. */
const unfinished = '.tmp';

/** Flags for reading, which do not follow symbolic links. */
const noFollowFlags = constants.O_RDONLY | constants.O_NOFOLLOW;

/**
 * Files contain data of the ledger, so only their owner may read them, unless the folder of the lake is open to a
 * group.
 */
const ownFile = 0o600;
const ownFolder = 0o700;
const groupOfFile = 0o040;
const groupOfFolder = 0o050;
const othersBits = 0o007;

export class LakeFolder implements LakeStorage {
  readonly path: string;
  readonly #did: OnOperation;
  #fileMode = ownFile;
  #folderMode = ownFolder;

  constructor(path: string, onOperation: OnOperation = () => undefined) {
    this.path = path;
    this.#did = onOperation;
  }

  /** Creates the folder and its parents. */
  async prepare(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: ownFolder });
    const { mode } = await stat(this.path);
    const isForGroup = (mode & groupOfFolder) === groupOfFolder && (mode & othersBits) === 0;
    this.#fileMode = isForGroup ? ownFile | groupOfFile : ownFile;
    this.#folderMode = isForGroup ? ownFolder | groupOfFolder : ownFolder;
    await this.#refuseLinks(`${unfinished}/`);
    await mkdir(join(this.path, unfinished), { recursive: true, mode: ownFolder });
    this.#did('make folder');
  }

  whileLocked<T>(work: () => Promise<T>): Promise<T> {
    return whileLocked(this.path, work);
  }

  async sweep(): Promise<void> {
    for (const name of await this.list(unfinished)) await this.#remove(join(unfinished, name));
  }

  async list(folder: string): Promise<readonly string[]> {
    await this.#refuseLinks(`${folder}/`);
    try {
      const entries = await readdir(join(this.path, folder), { withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    } catch (error) {
      return valueIfAbsent(error, []);
    }
  }

  async folders(): Promise<readonly string[]> {
    const entries = await readdir(this.path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && entry.name !== unfinished).map(({ name }) => name);
  }

  async isEmpty(): Promise<boolean> {
    try {
      return (await readdir(this.path)).every((name) => name === unfinished || name === lockName);
    } catch (error) {
      return valueIfAbsent(error, true);
    }
  }

  async read(name: string): Promise<string | undefined> {
    await this.#refuseLinks(name);
    try {
      return await readFile(join(this.path, name), { encoding: 'utf8', flag: noFollowFlags });
    } catch (error) {
      if (codeOf(error) === 'ELOOP') throw isLink(name);
      return valueIfAbsent(error, undefined);
    }
  }

  async sizes(folder: string): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>();
    for (const name of await this.list(folder)) sizes.set(name, (await stat(join(this.path, folder, name))).size);
    return sizes;
  }

  async readPart(name: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(end - start);
    await this.#refuseLinks(name);
    const file = await open(join(this.path, name), noFollowFlags).catch((error: unknown) => {
      throw codeOf(error) === 'ELOOP' ? isLink(name) : error;
    });
    try {
      for (let position = 0; position < bytes.length;) {
        const { bytesRead } = await file.read(bytes, position, bytes.length - position, start + position);
        if (bytesRead === 0) throw new RangeError(`${name} ends before byte ${String(end)}`);
        position += bytesRead;
      }
    } finally {
      await file.close();
    }
    return bytes;
  }

  begin(): Promise<UnfinishedFile> {
    return this.#begin();
  }

  async #begin(): Promise<FileOnDisk> {
    const path = join(this.path, unfinished, randomUUID());
    const file = await open(path, 'wx', ownFile);
    // Set explicitly, independent of the umask of the process.
    await file.chmod(this.#fileMode);
    this.#did('begin a file');
    return new FileOnDisk(path, file, this.#did, (name) => this.#name(path, name));
  }

  async #name(path: string, name: string): Promise<void> {
    await this.#folderOf(name);
    await rename(path, join(this.path, name));
    this.#did(`rename to ${name}`);
    await this.#sync(dirname(name));
  }

  async write(name: string, text: string): Promise<WrittenFile> {
    const file = await this.#begin();
    await file.write(Buffer.from(text));
    return file.finish(name);
  }

  async writeIfAbsent(name: string, text: string): Promise<boolean> {
    const file = await this.#begin();
    await file.write(Buffer.from(text));
    await file.close();
    await this.#folderOf(name);
    try {
      await link(file.path, join(this.path, name));
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return false;
    } finally {
      await unlink(file.path);
    }
    this.#did(`link ${name}`);
    await this.#sync(dirname(name));
    return true;
  }

  async remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    for (const name of names) await this.#remove(name);
    for (const folder of new Set(names.map((name) => dirname(name)))) await this.#sync(folder);
  }

  async #remove(name: string): Promise<void> {
    await this.#refuseLinks(name);
    await rm(join(this.path, name), { force: true });
    this.#did(`remove ${name}`);
  }

  async #folderOf(name: string): Promise<void> {
    await this.#refuseLinks(name);
    const createdFolder = await mkdir(join(this.path, dirname(name)), { recursive: true, mode: this.#folderMode });
    if (createdFolder === undefined) return;
    this.#did(`make folder ${dirname(name)}`);
    await this.#sync('.');
  }

  /**
   * @throws LakeError EXPORT_REFUSED if a folder on the path is a symbolic link; the folder of the lake itself may be
   *   one
   */
  async #refuseLinks(name: string): Promise<void> {
    const folders = name.split('/').slice(0, -1);
    for (let depth = 1; depth <= folders.length; depth += 1) {
      const folder = folders.slice(0, depth).join('/');
      const stats = await lstat(join(this.path, folder)).catch((error: unknown) => valueIfAbsent(error, undefined));
      if (stats === undefined) return;
      if (stats.isSymbolicLink()) throw isLink(folder);
    }
  }

  /** Syncs the names in a folder to disk. */
  async #sync(folder: string): Promise<void> {
    const handle = await open(join(this.path, folder), 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    this.#did(`sync folder ${folder}`);
  }
}

class FileOnDisk implements UnfinishedFile {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #did: OnOperation;
  readonly #name: (name: string) => Promise<void>;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(path: string, file: FileHandle, onOperation: OnOperation, assignName: (name: string) => Promise<void>) {
    this.path = path;
    this.#file = file;
    this.#did = onOperation;
    this.#name = assignName;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    await this.#file.appendFile(bytes);
    this.#bytes += bytes.byteLength;
    this.#did('write');
  }

  /** Syncs the file to disk, then closes it. */
  async close(): Promise<WrittenFile> {
    try {
      await this.#file.sync();
      this.#did('sync a file');
    } finally {
      await this.#file.close();
    }
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async finish(name: string): Promise<WrittenFile> {
    const fileSize = await this.close();
    await this.#name(name);
    return fileSize;
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(this.path, { force: true });
  }
}

function isLink(name: string): Error {
  return refusedBy(
    `${name} in it is a link`,
    'replace the link by the folder or file, or choose another folder with --to',
  );
}

function valueIfAbsent<T>(error: unknown, fallback: T): T {
  if (codeOf(error) === 'ENOENT') return fallback;
  throw error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}
