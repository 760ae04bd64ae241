/**
 * The interface through which the pipeline writes one stream. Only one process writes at a time. All implementations
 * must follow the rules stated here. The implementation for Postgres is src/store/postgres-sink.ts. Offsets are those
 * of the ledger. Every method may reject with an IndexerError, whose code determines the consequences (src/errors).
 */
import type { PackageLookup, PackageModel } from '../../daml/package-model.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { Batch } from '../../model/batch.ts';
import type {
  ListSource,
  CompletionGap,
  CompletionStart,
  ContractMark,
  LockHolder,
  PackageState,
  QuarantinedUpdate,
  SeedOrigin,
  StreamIdentity,
  StreamState,
  UpdateMark,
  RequestedInterface,
  Job,
} from '../../model/stream.ts';
import type { Completion, StoredUpdate } from '../../model/update.ts';
import type { PackageFacts, VerifiedFacts } from './observer.ts';
import type { EarlierHistoryPort } from './earlier.ts';
import type { FilterExtensions } from './filter-extension.ts';

export interface Sink {
  /**
   * Checks the database and updates its schema. Called at the start of every session. It is fast if there is nothing to
   * do.
   */
  prepare(): Promise<void>;
  /**
   * Tries once to take the writer lock. Resolves to undefined while another process holds the lock. After a rejection,
   * it may be called again.
   */
  tryLock(): Promise<WriterLock | undefined>;
  /** The current holder of the writer lock; undefined if it is free. */
  lockHolder(): Promise<LockHolder | undefined>;
  /**
   * Takes over the stream, so that earlier sessions can no longer write. The first session creates the stream.
   * @throws IndexerError PARTICIPANT_CHANGED or FILTER_CHANGED (park) when another stream is stored here;
   * STORE_LOCK_LOST (fenced) without the writer lock
   */
  openSession(identity: StreamIdentity): Promise<WriterSession>;
  readonly marks: StreamReads;
  readonly packages: StoredPackages;
  readonly filterExtension: FilterExtensions;
  readonly earlier: EarlierHistoryPort;
  /** The last result of each kind of `verify`, which runs as a separate process. */
  verifications(): Promise<readonly VerifiedFacts[]>;
  /** The background jobs of all processes. */
  jobs(): Promise<readonly Job[]>;
  /** Number of contracts that are neither active nor ended, because their parties left the participant. */
  unhostedContracts(): Promise<number>;
}

export interface WriterLock {
  /** Rejects when the writer lock is lost; never resolves. */
  readonly lost: Promise<never>;
  /** Releases the lock. Never rejects. */
  release(): Promise<void>;
}

/**
 * One session. It is valid until the first error, or until the next session is opened. Its state is read from the
 * database, never from memory. Every write is one transaction.
 * @throws IndexerError WRITER_FENCED (fenced), from all methods that write, when another session has written in the
 * meantime
 */
export interface WriterSession {
  /** State when the session was opened. */
  readonly state: StreamState;
  /** Interfaces whose views were requested when the session was opened. */
  readonly interfaces: readonly RequestedInterface[];
  readonly completions: CompletionWriter;
  /** Stores the interfaces that are requested from now on. Interfaces that are no longer requested are removed. */
  noteInterfaces(interfaces: readonly RequestedInterface[]): Promise<void>;
  /** Stores the id of the participant if no id is stored. Call it only after the history was verified. */
  noteParticipant(participantId: string): Promise<void>;
  /** Stores the ledger end and, if known, the offset up to which the ledger is pruned. */
  noteLedger(ledgerEnd: number, participantPrunedOffset: number | undefined): Promise<void>;
  /** An empty batch that begins after `offset`. Valid in this session only. */
  newBatch(offset: number): Batch;
  /**
   * Writes a sealed batch of `newBatch` and moves the checkpoint from `from` to its offset, completely or not at all.
   * Resolves to the number of rows written, by table.
   * @param predecessor the write of the previous batch, if it is still running; this write commits only after that
   * write has committed
   * @throws IndexerError STORE_LOCK_LOST (fenced), or the reason for the rejection
   */
  writeBatch(batch: Batch, from: number, predecessor?: Promise<unknown>): Promise<ReadonlyMap<string, number>>;
  /**
   * If Postgres rejected an update that was written in a separate transaction, adds the reason to the error. For
   * example, an update may contain a key twice.
   */
  explained(error: IndexerError, offset: number): Promise<IndexerError>;
  /** Stores the original of an update that cannot be stored, and moves the checkpoint from `from` past it. */
  quarantine(update: QuarantinedUpdate, from: number): Promise<void>;
  /**
   * Stores an update that arrived out of order, if it is missing. The session ends afterwards.
   * @param isOnLedger called first; resolves to true if the ledger has this update at this offset
   * @returns true if the update was stored
   */
  storeLate(update: StoredUpdate, isOnLedger: () => Promise<boolean>): Promise<boolean>;
  /**
   * Begins a seed at `offset`. Removes the data of an unfinished seed, including its token.
   * @param source release of the participant that returns the list; undefined if history begins without a list
   */
  beginSeed(offset: number, source?: ListSource): Promise<void>;
  /**
   * Writes a sealed batch of entries of the seed, with the newest continuation token. The entries do not count before
   * `publishSeed`. Resolves to the number of rows written, by table.
   * @param writtenCount number of entries that were stored before this batch
   * @param predecessor as for `writeBatch`
   */
  writeSeed(batch: Batch, writtenCount: number, predecessor?: Promise<unknown>): Promise<ReadonlyMap<string, number>>;
  /**
   * If Postgres rejected an entry of the seed that was written in a separate transaction, adds the reason to the error.
   * For example, a list may contain a contract twice.
   */
  explainedEntry(error: IndexerError): Promise<IndexerError>;
  /** The newest offset at which a contract of the seed became active; undefined if the seed has no contracts. */
  newestActivation(): Promise<number | undefined>;
  /**
   * Publishes the seed, with `offset` as the checkpoint.
   * @param anchorMark an update from before the seed, used to verify the history until another update is stored
   */
  publishSeed(offset: number, origin: SeedOrigin, anchorMark?: UpdateMark): Promise<void>;
}

/**
 * Writes completions concurrently with the batches of the same session. After the session has ended, each method
 * rejects with WRITER_FENCED (fenced).
 */
export interface CompletionWriter {
  /** Resolves to the offset to resume from (exclusive). The offset is valid after the seed is published. */
  open(start: CompletionStart): Promise<number>;
  /**
   * Stores the completions after `from` and up to `to`, in the order of their offsets, and moves the checkpoint of the
   * completions, completely or not at all. The write neither waits for batches nor delays them.
   * @throws IndexerError WRITER_FENCED (fenced) also if `to` is past the checkpoint of the stream
   */
  write(completions: readonly Completion[], from: number, to: number): Promise<void>;
  /** Records that the participant no longer returns some completions, and continues after them. */
  skip(gap: CompletionGap): Promise<void>;
}

/**
 * Staging area for views of interfaces. The updates of the same ledger are read into it, but only these views are used.
 * When the views have caught up with the stream, they become part of it. Only the holder of the writer lock uses it.
 */
export interface ViewStaging extends Pick<Sink, 'openSession'> {
  /**
   * Creates the staging area, or reuses the staging area of an interrupted run if it is suitable.
   * @throws IndexerError INTERFACE_BACKFILL_REFUSED when something blocks it, or the role lacks rights
   */
  prepare(spec: {
    readonly identity: StreamIdentity;
    /** First offset to stage from; earlier offsets cannot be used. */
    readonly notBefore: number;
    /**
     * The participant no longer returns updates before this offset. Staged data can be continued only if it reaches
     * this offset.
     */
    readonly pruned: number;
  }): Promise<void>;
  /**
   * Adds the views of all contracts in the stream, in one transaction, and empties the staging area.
   * @throws IndexerError WRITER_FENCED (fenced) unless the stream is at this epoch and checkpoint
   */
  merge(merge: {
    readonly interfaces: readonly string[];
    /** Contracts that were active at this offset, or were created after it, are staged. */
    readonly completeFrom: number;
    readonly checkpoint: number;
    readonly epoch: number;
  }): Promise<number>;
  close(): Promise<void>;
}

/** Stored updates and contracts that distinguish one history from another. */
export interface StreamReads {
  /** Everything up to this offset can be read; null before a seed is published. */
  checkpoint(): Promise<number | null>;
  /** The newest update with an id after `afterOffset` and up to `upTo`; undefined when there is none. */
  newest(afterOffset: number, upTo: number): Promise<UpdateMark | undefined>;
  /**
   * Beginning (exclusive) of the range in which the filter in force is complete and the offsets are those of the
   * current participant; 0 if the range begins with the first update.
   */
  rangeBegin(): Promise<number>;
  /**
   * Beginning (exclusive) of the updates that are stored without a gap up to the checkpoint, under any filters; 0 if
   * they begin with the first update.
   */
  historyBegin(): Promise<number>;
  /** Whether the update at this offset was quarantined. */
  isQuarantined(offset: number): Promise<boolean>;
  /** The first of these ascending offsets at which no update is stored or quarantined; undefined if there is none. */
  firstUnknown(offsets: readonly number[]): Promise<number | undefined>;
  /** The newest active contracts that were never reassigned: at most `limit`, and one per template. */
  contracts(limit: number): Promise<readonly ContractMark[]>;
  /**
   * A text that changes when a command changes the participant, the filter or the offset with which the stream
   * continues.
   */
  standing(): Promise<string>;
}

/** The packages that were read from the participant, and the views created from them. */
export interface StoredPackages {
  /** This is fast enough to be read after every commit. */
  state(): Promise<PackageState>;
  /** All stored packages, with their complete models. They have megabytes if a participant has many packages. */
  all(): Promise<readonly PackageModel[]>;
  /** Stores a package. An existing package is not changed, because its id is the hash of its content. */
  store(model: PackageModel): Promise<void>;
  /** Updates the omitted fields of all known templates from the packages. */
  refreshOmittedFields(packages: PackageLookup): Promise<void>;
  /**
   * Creates the typed views of these packages. If one view fails, the failure is reported and the other views are
   * created.
   */
  syncViews(packages: readonly PackageModel[]): Promise<SyncedViews>;
}

/** Result of updating typed views. */
export interface SyncedViews {
  /** Names of views that were created or replaced. */
  readonly made: readonly string[];
  readonly failed: PackageFacts['failedViews'];
}
