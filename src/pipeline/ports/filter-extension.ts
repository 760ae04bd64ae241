/**
 * The interface to the requests for an extended filter, and to the staging area for the contracts that it adds. Only
 * the holder of the writer lock uses it. Implemented for Postgres by src/store/postgres-sink.ts.
 */
import type { StoredFilter, FilterExtensionRequest } from '../../model/stream.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { Sink } from './sink.ts';

/** The work that remains to be done. */
export interface DueFilterExtension {
  readonly request: FilterExtensionRequest;
  /** Whether the job is paused until it is resumed. */
  readonly isPaused: boolean;
  /** Whether the filter is in force already. */
  readonly isSet: boolean;
  /** The list of active contracts must not be read at an earlier offset; undefined if no contracts are missing. */
  readonly notBefore: number | undefined;
}

/** Progress for display. */
export interface FilterExtensionProgress {
  readonly state?: 'done' | 'failed';
  readonly step?: string | null;
  readonly unit?: 'contracts' | 'offsets' | null;
  readonly done?: number;
  readonly total?: number | null;
  readonly perSecond?: number | null;
  readonly problem?: string | null;
}

export interface FilterExtensions {
  /** The filter in force; undefined when nothing was ever indexed here. */
  filter(): Promise<StoredFilter | undefined>;
  /** The requested work that is not finished; undefined if there is none. */
  due(): Promise<DueFilterExtension | undefined>;
  /** @throws IndexerError FILTER_EXTEND_REFUSED if this role lacks the rights that an extension needs */
  assertAllowed(): Promise<void>;
  /** Stores the progress; false when the job was paused or cancelled. */
  note(progress: FilterExtensionProgress): Promise<boolean>;
  /**
   * Brings the filter into force at the checkpoint.
   * @param followedIds interfaces that the stream includes from there, although views of earlier contracts are missing
   * @throws IndexerError WRITER_FENCED (fenced); FILTER_EXTEND_REFUSED when the filter in force is not the one that was
   *   to be extended
   */
  set(
    extensionRequest: FilterExtensionRequest,
    position: { readonly checkpoint: number; readonly epoch: number },
    followedIds: readonly string[],
  ): Promise<void>;
  /** Removes staged data that is no longer needed. */
  tidy(): Promise<void>;
}

/** Number of contracts that were added so far, and in total. */
export interface FillState {
  readonly done: number;
  readonly total: number;
}

/** Staging area for the active contracts under the extended filter, until they are part of the stream. */
export interface FilterExtensionStorage extends Pick<Sink, 'openSession'> {
  /**
   * Creates the staging area, or reuses the one of an interrupted run if it fits.
   * @throws IndexerError FILTER_EXTEND_REFUSED when something blocks it, or the role lacks rights
   */
  prepare(spec: { readonly identity: StreamIdentity; readonly notBefore: number }): Promise<void>;
  /** Whether `name` was applied to the staged data. */
  isNamed(): Promise<boolean>;
  /**
   * Assigns the numbers of the stream to staged names. Called between two sessions, because it increments the epoch.
   */
  name(epoch: number): Promise<void>;
  /**
   * Prepares the merge if that was not done, and returns its progress.
   * @throws IndexerError FILTER_EXTEND_MISMATCH when the list does not match the stored contracts
   */
  begin(): Promise<FillState>;
  /** Adds the next contracts. @returns undefined when all are added @throws IndexerError WRITER_FENCED (fenced) */
  fill(epoch: number, contracts: number): Promise<FillState | undefined>;
  /**
   * Marks the extension complete. @returns first offset from which it is complete @throws IndexerError WRITER_FENCED
   * (fenced)
   */
  finish(epoch: number): Promise<number>;
  close(): Promise<void>;
}
