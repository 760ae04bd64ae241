/**
 * Requests for an extended filter, and the staging area for the contracts that it adds. For the holder of the writer
 * lock. Implemented for Postgres by src/store/postgres-sink.ts.
 */
import type { StoredFilter, FilterExtensionRequest } from '../../model/stream.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { Sink } from './sink.ts';

/** Remaining work. */
export interface DueFilterExtension {
  readonly request: FilterExtensionRequest;
  /** The job is paused until it is resumed. */
  readonly isPaused: boolean;
  /** The filter is in force already. */
  readonly isSet: boolean;
  /** Contracts active at an earlier offset cannot be used; undefined: nothing is missing. */
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
  /** The requested and unfinished work. */
  due(): Promise<DueFilterExtension | undefined>;
  /** @throws IndexerError FILTER_EXTEND_REFUSED unless this role has the rights that an extension needs */
  assertAllowed(): Promise<void>;
  /** Stores the progress; false when the job was paused or cancelled. */
  note(progress: FilterExtensionProgress): Promise<boolean>;
  /**
   * Brings the filter into force at the checkpoint.
   * @param followed interfaces that the stream includes from there, although views of earlier contracts are missing
   * @throws IndexerError WRITER_FENCED (fenced), FILTER_EXTEND_REFUSED when another filter is in force than was
   *   extended
   */
  set(
    extensionRequest: FilterExtensionRequest,
    at: { readonly checkpoint: number; readonly epoch: number },
    followed: readonly string[],
  ): Promise<void>;
  /** Removes staged data that is no longer needed. */
  tidy(): Promise<void>;
}

/** Number of contracts of a list that were processed. */
export interface Filled {
  readonly done: number;
  readonly total: number;
}

/** Staging area for the active contracts under the extended filter, until they are part of the stream. */
export interface FilterExtensionPlace extends Pick<Sink, 'openSession'> {
  /**
   * Creates the staging area, or reuses what an interrupted run has left if it fits.
   * @throws IndexerError FILTER_EXTEND_REFUSED when something blocks it, or the role lacks rights
   */
  prepare(spec: { readonly identity: StreamIdentity; readonly notBefore: number }): Promise<void>;
  /** Whether `name` was applied to the staged data. */
  isNamed(): Promise<boolean>;
  /** Assigns the numbers of the stream to staged names. Between two sessions: the epoch rises. */
  name(epoch: number): Promise<void>;
  /**
   * Progress of the merge; prepares it if that was not done.
   * @throws IndexerError FILTER_EXTEND_MISMATCH when the list does not match the stored contracts
   */
  begin(): Promise<Filled>;
  /** Adds the next contracts. @returns undefined when all are added @throws IndexerError WRITER_FENCED (fenced) */
  fill(epoch: number, contracts: number): Promise<Filled | undefined>;
  /**
   * Marks the extension complete. @returns first offset from which it is complete @throws IndexerError WRITER_FENCED
   * (fenced)
   */
  finish(epoch: number): Promise<number>;
  close(): Promise<void>;
}
