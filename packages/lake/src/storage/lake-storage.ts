/** Where a lake lies, a folder or a prefix of a bucket, and every operation on it: a name stands for a whole file or for none. */

/** Told after each operation that changed something there. */
export type OnOperation = (operation: string) => void;

export interface WrittenFile {
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
}

/** A file under construction; it is nothing before it is given its name. */
export interface UnfinishedFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives it its name, in the place of the one of this name, if there is one. */
  finish(name: string): Promise<WrittenFile>;
  /** Gives up what was written. */
  discard(): Promise<void>;
}

/** Names go from the top of the lake, with slashes. */
export interface LakeStorage {
  /** As it was given. */
  readonly path: string;
  /** Makes what has to be there before it is locked. */
  prepare(): Promise<void>;
  /** Runs `work` while nobody else writes into it. @throws LakeError EXPORT_BUSY; as `work` */
  whileLocked<T>(work: () => Promise<T>): Promise<T>;
  /** Removes what was never finished. */
  sweep(): Promise<void>;
  /** Names in a folder of it, without folders; none where there is no such folder. */
  list(folder: string): Promise<readonly string[]>;
  /** Names of the folders of tables. */
  folders(): Promise<readonly string[]>;
  /** Whether nothing has a name in it. */
  isEmpty(): Promise<boolean>;
  /** Undefined where there is no such file. */
  read(name: string): Promise<string | undefined>;
  /** Bytes of the files in a folder of it, by their names in it; none where there is no such folder. */
  sizes(folder: string): Promise<ReadonlyMap<string, number>>;
  /** A part of a file that is there, the end not part of it. */
  readPart(name: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  begin(): Promise<UnfinishedFile>;
  /** A whole file at once. */
  write(name: string, text: string): Promise<WrittenFile>;
  /** False where there is a file of this name: it stays as it is. */
  writeIfAbsent(name: string, text: string): Promise<boolean>;
  remove(names: readonly string[]): Promise<void>;
}
