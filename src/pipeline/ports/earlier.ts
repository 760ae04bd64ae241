/**
 * The interface to the storage for history from before a filter was extended. This history is read while the stream
 * runs. Only the holder of the writer lock uses it. Implemented for Postgres by src/store/postgres-sink.ts.
 */
import type { HistoryRequest } from '../../model/stream.ts';
import type { StoredUpdate } from '../../model/update.ts';
import type { FilterExtensionProgress } from './filter-extension.ts';

/** The work that remains to be done. Offsets are exclusive. */
export interface DueEarlier {
  readonly request: HistoryRequest;
  /** Whether the job is paused until it is resumed. */
  readonly isPaused: boolean;
  /** Whether the filter in force is the one whose history is requested. */
  readonly isInForce: boolean;
  /** Whether a filter is being extended, or contracts are being staged; the job continues after that. */
  readonly waits: boolean;
  /** Whether the contracts active at the beginning were requested; they are being staged, or staging them failed. */
  readonly isListRequested: boolean;
  /** Updates after this offset are stored under the filter in force. */
  readonly from: number;
  /** The contracts active at this offset are stored; undefined if some of them are missing. */
  readonly completeFrom: number | undefined;
  /** Offset at which the stored history begins. */
  readonly begin: number;
}

export interface EarlierHistoryPort {
  /** The requested work that is not finished; undefined if there is none. */
  due(): Promise<DueEarlier | undefined>;
  /** Stores the progress; false when the job was paused or cancelled. */
  note(progress: FilterExtensionProgress): Promise<boolean>;
}

/** All updates after `from` and up to `to` that match the filter in force, in order. */
export interface EarlierRange {
  readonly from: number;
  readonly to: number;
  readonly updates: readonly StoredUpdate[];
}

/** Each method rejects with WRITER_FENCED (fenced) under another epoch. */
export interface EarlierStorage {
  /**
   * Stores a range completely or not at all. If the result is `names` or `otherwise`, nothing was stored. `names` means
   * that some names of the range need numbers first. `otherwise` means that the range has been pruned in the meantime,
   * or that contracts are being staged again.
   * @throws IndexerError FILTER_EXTEND_MISMATCH, FILTER_EXTEND_REFUSED
   */
  store(range: EarlierRange, epoch: number): Promise<'stored' | 'names' | 'otherwise'>;
  /** Assigns numbers to the names of the range. Called between two sessions, because it increments the epoch. */
  name(range: EarlierRange, epoch: number): Promise<void>;
  /** Requests the contracts active at an offset. They are staged in the same way as for a filter extension. */
  askForList(at: number, epoch: number): Promise<void>;
  /**
   * Marks the job complete.
   * @param floor earlier offsets cannot be read from the participant, or are not retained here
   * @returns first offset (exclusive) of the history
   */
  finish(floor: number, epoch: number): Promise<number>;
  close(): Promise<void>;
}
