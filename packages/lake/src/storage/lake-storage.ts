/** Storage of a lake, a folder or a prefix of a bucket, and every operation on it: a name refers to a complete file or to none. */

/** Called after each operation that changed the storage. */
export type OnOperation = (operation: string) => void;

export interface WrittenFile {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** A file under construction; it is not visible before it gets its name. */
export interface UnfinishedFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives it its name, replacing a file of this name. */
  finish(name: string): Promise<WrittenFile>;
  /** Discards the written data. */
  discard(): Promise<void>;
}

/** Names are relative to the root of the lake, with slashes. */
export interface LakeStorage {
  /** As given by the user. */
  readonly path: string;
  /** Creates what the lock needs. */
  prepare(): Promise<void>;
  /** Runs `work` while holding the lock. @throws LakeError EXPORT_BUSY; as `work` */
  whileLocked<T>(work: () => Promise<T>): Promise<T>;
  /** Removes unfinished files. */
  sweep(): Promise<void>;
  /** Names in a folder, without subfolders; empty if the folder does not exist. */
  list(folder: string): Promise<readonly string[]>;
  /** Names of the folders of tables. */
  folders(): Promise<readonly string[]>;
  /** Whether it contains no names. */
  isEmpty(): Promise<boolean>;
  /** Undefined if the file does not exist. */
  read(name: string): Promise<string | undefined>;
  /** Sizes of the files in a folder, by their names in it; empty if the folder does not exist. */
  sizes(folder: string): Promise<ReadonlyMap<string, number>>;
  /** Part of an existing file, `end` exclusive. */
  readPart(name: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  begin(): Promise<UnfinishedFile>;
  /** Writes a complete file at once. */
  write(name: string, text: string): Promise<WrittenFile>;
  /** Returns false if a file of this name exists: it stays unchanged. */
  writeIfAbsent(name: string, text: string): Promise<boolean>;
  remove(names: readonly string[]): Promise<void>;
}
