/**
 * The port through which the pipeline writes: one stream, written by one process at a time. What is promised here holds
 * for whoever implements it; over Postgres that is src/store/postgres-sink.ts. Offsets are those of the ledger. Every
 * method may reject with an IndexerError; its code says what follows (src/errors).
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
  WantedInterface,
  Job,
} from '../../model/stream.ts';
import type { Completion, StoredUpdate } from '../../model/update.ts';
import type { PackageFacts, VerifiedFacts } from './observer.ts';
import type { EarlierJob } from './earlier.ts';
import type { FilterExtensions } from './filter-extension.ts';

export interface Sink {
  /** Checks the place and brings its layout up to date; called at the start of every session, cheap once done. */
  prepare(): Promise<void>;
  /** One try for the right to write; undefined while another process has it. After a rejection it may be called again. */
  tryLock(): Promise<WriterLock | undefined>;
  /** Whoever has the right to write now; undefined when nobody has. */
  lockHolder(): Promise<LockHolder | undefined>;
  /**
   * Takes over the stream, so that no earlier session can write any more; its first session makes it.
   * @throws IndexerError PARTICIPANT_CHANGED or FILTER_CHANGED (park) when it is another stream that is stored here,
   *   STORE_LOCK_LOST (fenced) without the right to write
   */
  openSession(identity: StreamIdentity): Promise<SinkSession>;
  readonly marks: StoredMarks;
  readonly packages: StoredPackages;
  readonly filterExtension: FilterExtensions;
  readonly earlier: EarlierJob;
  /** The last result of each kind of `verify`, which is another process. */
  verifications(): Promise<readonly VerifiedFacts[]>;
  /** What was asked for beside the stream, whoever does it. */
  jobs(): Promise<readonly Job[]>;
  /** How many contracts are neither active nor ended, because their parties left the participant. */
  unhostedContracts(): Promise<number>;
}

export interface WriterLock {
  /** Rejects when the right to write is lost; never resolves. */
  readonly lost: Promise<never>;
  /** Gives the right up. Never rejects. */
  release(): Promise<void>;
}

/**
 * One session: valid until the first error, and until the next one is opened; nothing is trusted from memory. Whatever
 * is written is one transaction. @throws IndexerError WRITER_FENCED (fenced), from all that write, when another
 * session has written meanwhile
 */
export interface SinkSession {
  /** As it was when the session was opened. */
  readonly state: StreamState;
  /** Likewise: the interfaces whose views are wanted. */
  readonly interfaces: readonly WantedInterface[];
  readonly completions: CompletionWriter;
  /** Notes which are wanted from now on; what was wanted before and is no more is forgotten. */
  noteInterfaces(wanted: readonly WantedInterface[]): Promise<void>;
  /** Notes the participant's id if none is stored; call it once the history is proven. */
  noteParticipant(participantId: string): Promise<void>;
  /** Notes the ledger end and, if it was told, the offset up to which the ledger is pruned. */
  noteLedger(ledgerEnd: number, participantPrunedOffset: number | undefined): Promise<void>;
  /** A batch that begins after `offset`. Of use in this session only. */
  newBatch(offset: number): Batch;
  /**
   * Writes a sealed batch of `newBatch` and moves the checkpoint from `from` to its offset: all of it or nothing.
   * Resolves to rows written by table.
   * @param predecessor the write of the batch before, when it is still under way: this one commits after it or not at all
   * @throws IndexerError STORE_LOCK_LOST (fenced), or what refused it
   */
  writeBatch(batch: Batch, from: number, predecessor?: Promise<unknown>): Promise<ReadonlyMap<string, number>>;
  /** What refused an update that was written alone, in words that help: an update may hold a key twice. */
  explained(error: IndexerError, offset: number): Promise<IndexerError>;
  /** Keeps an update that cannot be stored as it came, and moves the checkpoint from `from` past it. */
  quarantine(update: QuarantinedUpdate, from: number): Promise<void>;
  /**
   * Stores an update that came after later ones, if it is missing: true when it did. After that the session is over.
   * @param isOurs asked before: whether the ledger has this update at this offset
   */
  storeLate(update: StoredUpdate, isOurs: () => Promise<boolean>): Promise<boolean>;
  /**
   * Begins a seed at `offset`: what an unfinished one left is removed, its token too.
   * @param source of the list; undefined when history begins without one
   */
  beginSeed(offset: number, source?: ListSource): Promise<void>;
  /**
   * Writes a sealed batch of entries of the seed, with the newest continuation token; nothing of it counts before
   * `publishSeed`. Resolves to rows written by table.
   * @param written entries stored before these
   * @param predecessor as of `writeBatch`
   */
  writeSeed(batch: Batch, written: number, predecessor?: Promise<unknown>): Promise<ReadonlyMap<string, number>>;
  /** What refused an entry of the seed that was written alone, in words that help: a list may hold a contract twice. */
  explainedEntry(error: IndexerError): Promise<IndexerError>;
  /** The newest offset at which a contract of the seed became active; undefined without contracts. */
  newestActivation(): Promise<number | undefined>;
  /**
   * The seed counts from here on, and `offset` is the checkpoint.
   * @param anchor an update of the seed by which the history is proven until another one is stored
   */
  publishSeed(offset: number, origin: SeedOrigin, anchor?: UpdateMark): Promise<void>;
}

/** Completions, beside the batches of the same session. Each method rejects with WRITER_FENCED (fenced) once that is over. */
export interface CompletionWriter {
  /** Where they go on (exclusive); of use once the seed is published. */
  open(start: CompletionStart): Promise<number>;
  /**
   * Stores those after `from` and up to `to`, in the order of their offsets, and moves their checkpoint, all of it or nothing.
   * Neither waits for batches nor holds them up.
   * @throws IndexerError WRITER_FENCED (fenced) also where `to` is past the checkpoint of the stream
   */
  write(completions: readonly Completion[], from: number, to: number): Promise<void>;
  /** Notes that some are not shown any more, and goes on after them. */
  skip(gap: CompletionGap): Promise<void>;
}

/**
 * A place beside the stream where the same ledger is followed for the views of interfaces alone, until they are level with
 * the stream and become part of it. Of use to the holder of the writer lock.
 */
export interface ViewStaging extends Pick<Sink, 'openSession'> {
  /**
   * Makes room, or takes over what a run that was cut has left if it fits.
   * @throws IndexerError INTERFACE_BACKFILL_REFUSED when something else is in the way, or the role may not
   */
  prepare(wanted: {
    readonly identity: StreamIdentity;
    /** Where to begin: no earlier offset is of use. */
    readonly notBefore: number;
    /** What has come this far can be gone on with: up to here the participant shows no updates any more. */
    readonly pruned: number;
  }): Promise<void>;
  /**
   * Adds the views of all contracts that the stream holds, in one transaction; the place is empty then.
   * @throws IndexerError WRITER_FENCED (fenced) unless the stream is at this epoch and checkpoint
   */
  merge(merge: {
    readonly interfaces: readonly string[];
    /** Contracts active at this offset, or begun after it, were gathered. */
    readonly completeFrom: number;
    readonly checkpoint: number;
    readonly epoch: number;
  }): Promise<number>;
  close(): Promise<void>;
}

/** What is stored, as far as it tells one history from another. */
export interface StoredMarks {
  /** Everything up to here can be read; null before a seed is published. */
  checkpoint(): Promise<number | null>;
  /** The newest update with an id after `above` and up to `upTo`; undefined when there is none. */
  newest(above: number, upTo: number): Promise<UpdateMark | undefined>;
  /**
   * Where the range begins that the filter in force is complete in, and that the participant of now tells by these offsets
   * (exclusive); 0 from the first update on.
   */
  rangeBegin(): Promise<number>;
  /** Where the updates begin that are here without a gap up to the checkpoint (exclusive), under whatever filters; likewise. */
  historyBegin(): Promise<number>;
  /** Whether the update at this offset was set aside. */
  isQuarantined(offset: number): Promise<boolean>;
  /** The first of these offsets, rising, at which nothing is stored and nothing was set aside; undefined: none. */
  firstUnknown(offsets: readonly number[]): Promise<number | undefined>;
  /** The newest active contracts, at most `limit` and one of a template, that were never reassigned. */
  contracts(limit: number): Promise<readonly ContractMark[]>;
  /** Another text once a command has changed which participant, filter or offset the stream goes on with. */
  standing(): Promise<string>;
}

/** The packages that were read from the participant, and what is made of them for readers. */
export interface StoredPackages {
  /** Cheap enough to be asked for after every commit. */
  state(): Promise<PackageState>;
  /** Every stored package, whole: megabytes where a participant has many. */
  all(): Promise<readonly PackageModel[]>;
  /** Stores a package; one that is there already stays as it is, for its id is the hash of its content. */
  store(model: PackageModel): Promise<void>;
  /** Makes the omitted fields of all templates known now what the packages say. */
  refreshOmittedFields(packages: PackageLookup): Promise<void>;
  /** Makes the typed views that these packages want; what fails for one view alone is told, and the others are made. */
  syncViews(packages: readonly PackageModel[]): Promise<SyncedViews>;
}

/** What was done to typed views. */
export interface SyncedViews {
  /** Names of views that were made or replaced. */
  readonly made: readonly string[];
  readonly failed: PackageFacts['failedViews'];
}
