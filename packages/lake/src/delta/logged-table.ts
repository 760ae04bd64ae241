/** A Delta table as described by its log, commit by commit. */
import type { LoggedFile, RemovedFile, TableMetaData, TableState } from './delta-checkpoint.ts';

/** Number of commits between checkpoints, and so the maximum number that a reader opens after one. */
export const commitsPerCheckpoint = 100;
/** Milliseconds for which readers of older versions may read removed files; the default of the protocol. */
const removedForMs = 7 * 24 * 60 * 60_000;

/** A line of a commit. */
export interface Action {
  readonly add?: LoggedFile;
  readonly remove?: RemovedFile;
  readonly metaData?: TableMetaData;
  readonly protocol?: object;
}

export class LoggedTable {
  /** By path relative to the folder of the table. */
  readonly #files = new Map<string, LoggedFile>();
  readonly #removed = new Map<string, RemovedFile>();
  #metaData: TableMetaData | undefined;
  #nextVersion = 0;
  /** Version of the newest checkpoint; 0 if there is none, because version 0 never has one. */
  #checkpoint = 0;

  constructor(checkpoint?: TableState) {
    if (checkpoint === undefined) return;
    const { version, metaData, files, removed } = checkpoint;
    for (const add of files) this.#apply({ add });
    for (const remove of removed) this.#removed.set(decodeURIComponent(remove.path), remove);
    this.#metaData = metaData;
    this.#nextVersion = version + 1;
    this.#checkpoint = version;
  }

  get nextVersion(): number {
    return this.#nextVersion;
  }

  get schema(): string | undefined {
    return this.#metaData?.schemaString;
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  paths(): Iterable<string> {
    return this.#files.keys();
  }

  /** Applies the next commit. */
  commit(actions: readonly Action[]): void {
    for (const action of actions) this.#apply(action);
    this.#nextVersion += 1;
  }

  /**
   * The state for a checkpoint of the last commit; undefined if no checkpoint is due.
   * @param now milliseconds since 1970
   */
  dueCheckpoint(now: number): TableState | undefined {
    const version = this.#nextVersion - 1;
    if (this.#metaData === undefined || version - this.#checkpoint < commitsPerCheckpoint) return undefined;
    const removedFiles = [...this.#removed.values()].filter(
      ({ deletionTimestamp }) => deletionTimestamp > now - removedForMs,
    );
    return { version, metaData: this.#metaData, files: [...this.#files.values()], removed: removedFiles };
  }

  noteCheckpoint({ version }: TableState): void {
    this.#checkpoint = version;
  }

  #apply({ add, remove, metaData }: Action): void {
    if (add !== undefined) {
      const path = decodeURIComponent(add.path);
      const { size, modificationTime, stats } = add;
      this.#files.set(path, { path: add.path, size, modificationTime, stats });
      this.#removed.delete(path);
    }
    if (remove !== undefined) {
      const path = decodeURIComponent(remove.path);
      this.#files.delete(path);
      this.#removed.set(path, { path: remove.path, deletionTimestamp: remove.deletionTimestamp });
    }
    if (metaData !== undefined) {
      const { id, name, schemaString } = metaData;
      this.#metaData = { id, name, schemaString };
    }
  }
}
