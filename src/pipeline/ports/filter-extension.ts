/**
 * Where a wider filter is asked for, and where the contracts that it brings are gathered. Of use to the holder of the writer
 * lock. Over Postgres that is src/store/postgres-sink.ts.
 */
import type { StoredFilter, WantedFilterExtension } from '../../model/stream.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { Sink } from './sink.ts';

/** What there is to do. */
export interface DueFilterExtension {
  readonly wanted: WantedFilterExtension;
  /** It waits until it is resumed. */
  readonly isPaused: boolean;
  /** The filter is in force already. */
  readonly isSet: boolean;
  /** What was active at an earlier offset is of no use; undefined: nothing is missing. */
  readonly notBefore: number | undefined;
}

/** How far it is, as people see it. */
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
  /** What was asked for and is not finished. */
  due(): Promise<DueFilterExtension | undefined>;
  /** @throws IndexerError FILTER_EXTEND_REFUSED unless this role may do what it takes */
  assertAllowed(): Promise<void>;
  /** Says how far it is; false when it was stopped or given up. */
  note(progress: FilterExtensionProgress): Promise<boolean>;
  /**
   * Brings the filter into force at the checkpoint.
   * @param followed interfaces that the stream asks for from there on, although views of earlier contracts are missing
   * @throws IndexerError WRITER_FENCED (fenced), FILTER_EXTEND_REFUSED when another filter is in force than was extended
   */
  set(
    wanted: WantedFilterExtension,
    at: { readonly checkpoint: number; readonly epoch: number },
    followed: readonly string[],
  ): Promise<void>;
  /** Removes what was gathered and nobody wants any more. */
  tidy(): Promise<void>;
}

/** Contracts of a list that were looked at. */
export interface Filled {
  readonly done: number;
  readonly total: number;
}

/** A place beside the stream for the active contracts under the wider filter, until they are part of it. */
export interface FilterExtensionPlace extends Pick<Sink, 'openSession'> {
  /**
   * Makes room, or takes over what a run that was cut has left if it fits.
   * @throws IndexerError FILTER_EXTEND_REFUSED when something else is in the way, or the role may not
   */
  prepare(wanted: { readonly identity: StreamIdentity; readonly notBefore: number }): Promise<void>;
  /** Whether `name` was done with what is here. */
  isNamed(): Promise<boolean>;
  /** Gives it the numbers of the stream. Between two sessions: the epoch rises. */
  name(epoch: number): Promise<void>;
  /**
   * How far it is part of the stream; makes it ready if that was not done.
   * @throws IndexerError FILTER_EXTEND_MISMATCH when the list does not go with what is stored
   */
  begin(): Promise<Filled>;
  /** Adds the next of them. @returns undefined when all are added @throws IndexerError WRITER_FENCED (fenced) */
  fill(epoch: number, contracts: number): Promise<Filled | undefined>;
  /** It is complete. @returns from which offset on @throws IndexerError WRITER_FENCED (fenced) */
  finish(epoch: number): Promise<number>;
  close(): Promise<void>;
}
