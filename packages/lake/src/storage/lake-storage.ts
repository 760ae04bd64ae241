/**
 * Storage of a lake, a folder or a prefix of a bucket, and every operation on it. A name refers to a complete file or
 * to none.
 */

/** Called after each operation that changed the storage. */
export type OnOperation = (operation: string) => void;

export interface WrittenFile {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** A file under construction, which is not visible before it gets its name. */
export interface UnfinishedFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives the file its name, replacing an existing file of this name. */
  finish(name: string): Promise<WrittenFile>;
  /** Discards the written data. */
  discard(): Promise<void>;
}

/** Operations on a lake. Names are relative to its root, with slashes. */
export interface LakeStorage {
  /** Path of the lake in the form that the user entered. */
  readonly path: string;
  /** Creates the folders that the lock needs. */
  prepare(): Promise<void>;
  /** Runs `work` while holding the lock. @throws LakeError EXPORT_BUSY; errors of `work` */
  whileLocked<T>(work: () => Promise<T>): Promise<T>;
  /** Removes unfinished files. */
  sweep(): Promise<void>;
  /** Names of the files in a folder, without subfolders; empty if the folder does not exist. */
  list(folder: string): Promise<readonly string[]>;
  /** Names of the folders of tables. */
  folders(): Promise<readonly string[]>;
  /** Whether the lake contains no names. */
  isEmpty(): Promise<boolean>;
  /** Undefined if the file does not exist. */
  read(name: string): Promise<string | undefined>;
  /** Sizes of the files in a folder, by file name; empty if the folder does not exist. */
  sizes(folder: string): Promise<ReadonlyMap<string, number>>;
  /** Bytes of an existing file, from `start` (inclusive) to `end` (exclusive). */
  readPart(name: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  begin(): Promise<UnfinishedFile>;
  /** Writes a complete file at once. */
  write(name: string, text: string): Promise<WrittenFile>;
  /** Writes a file unless one of this name exists. @returns false if it exists, and is unchanged */
  writeIfAbsent(name: string, text: string): Promise<boolean>;
  remove(names: readonly string[]): Promise<void>;
}
