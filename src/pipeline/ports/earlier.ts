/**
 * Where history is stored that lies before a wider filter, while the stream goes on. Of use to the holder of the writer lock.
 * Over Postgres that is src/store/postgres-sink.ts.
 */
import type { WantedHistory } from '../../model/stream.ts';
import type { StoredUpdate } from '../../model/update.ts';
import type { FilterExtensionProgress } from './filter-extension.ts';

/** What there is to do. Offsets are exclusive. */
export interface DueEarlier {
  readonly wanted: WantedHistory;
  /** It waits until it is resumed. */
  readonly isPaused: boolean;
  /** The filter in force is the one whose history is wanted. */
  readonly isInForce: boolean;
  /** A filter is being extended, or contracts are gathered: it goes on after that. */
  readonly waits: boolean;
  /** What was active where it begins was asked for, and is being gathered or was not. */
  readonly askedForList: boolean;
  /** Updates after this offset are here under the filter in force. */
  readonly from: number;
  /** What was active at this offset is here; undefined: some of it is missing. */
  readonly completeFrom: number | undefined;
  /** Where the history here begins. */
  readonly begin: number;
}

export interface EarlierJob {
  /** What was asked for and is not finished. */
  due(): Promise<DueEarlier | undefined>;
  /** Says how far it is; false when it was stopped or given up. */
  note(progress: FilterExtensionProgress): Promise<boolean>;
}

/** All updates after `from` and up to `to` that the filter in force shows, in order. */
export interface EarlierRange {
  readonly from: number;
  readonly to: number;
  readonly updates: readonly StoredUpdate[];
}

/** Each method rejects with WRITER_FENCED (fenced) under another epoch. */
export interface EarlierPlace {
  /**
   * Stores a range, all of it or nothing. `names`: nothing, some need numbers first; `otherwise`: nothing, for it was pruned
   * here meanwhile, or contracts are being gathered again.
   * @throws IndexerError FILTER_EXTEND_MISMATCH, FILTER_EXTEND_REFUSED
   */
  store(range: EarlierRange, epoch: number): Promise<'stored' | 'names' | 'otherwise'>;
  /** Gives names of the range numbers. Between two sessions: the epoch rises. */
  name(range: EarlierRange, epoch: number): Promise<void>;
  /** Asks for what was active at an offset, to be gathered as by an extension of the filter. */
  askForList(at: number, epoch: number): Promise<void>;
  /** It is complete. @param floor nothing is shown, or kept here, before it @returns from which offset on */
  finish(floor: number, epoch: number): Promise<number>;
  close(): Promise<void>;
}
