/**
 * Interfaces through which the pipeline reports events. The pipeline has no metrics or logs; the implementation
 * (src/observe) decides what becomes a log line, a counter or a gauge. No method may throw or block.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { LockHolder, Phase, RequestedInterface, Job } from '../../model/stream.ts';
import type { UnknownNameCount } from '../../model/unknown.ts';

/** Contents of one committed database transaction. The counts are only for this batch. */
export interface BatchFacts {
  /** Undefined for entries of a seed, because they do not count until the seed is published. */
  readonly checkpoint: number | undefined;
  /** Updates by kind: transaction, reassignment, topology, offset_checkpoint, unknown. */
  readonly updates: ReadonlyMap<string, number>;
  /** Events by type (created, archived, exercised, assigned, unassigned, topology), then by `package:Module:Entity`. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Rows written by table name. */
  readonly rows: ReadonlyMap<string, number>;
  /** Names in the batch that this version does not know. */
  readonly unknown: readonly UnknownNameCount[];
  /** Number of transactions that the fast reader could not decode, so that the fallback scanner decoded them. */
  readonly fallbackDecodedTransactions: number;
  /** Record time of the newest update or OffsetCheckpoint in the batch, milliseconds since 1970. */
  readonly recordTimeMs: number | undefined;
  readonly bytes: number;
  /** Time from BEGIN to COMMIT, seconds. */
  readonly commitSeconds: number;
  /** Time spent parsing and building the rows of the batch, seconds. */
  readonly decodeSeconds: number;
}

export interface SeedProgressFacts {
  /** Contracts written so far. */
  readonly contracts: number;
  readonly offset: number;
}

export interface QueueFacts {
  readonly updates: number;
  readonly updatesCapacity: number;
  readonly bytes: number;
  readonly bytesCapacity: number;
}

/** A package that cannot be read. Its templates have no typed views until the next start. */
export interface RefusedPackage {
  readonly packageId: string;
  readonly error: IndexerError;
}

/** Progress of one retention pass. */
export interface PruneFacts {
  /** Updates up to this offset are removed, except those that belong to contracts active at this offset. */
  readonly boundary: number;
  /** Rows removed since the pass began. */
  readonly rows: number;
  /** Whether the pass is over. */
  readonly finished: boolean;
  /** The hold that prevents the pass from pruning up to the configured boundary; null if there is none. */
  readonly heldBy: {
    readonly name: string;
    readonly offset: number;
    readonly since: Date;
    /**
     * Set for an update whose record time is later than that of the updates after it. Only a prune by offset removes
     * it.
     */
    readonly isFutureUpdate?: true;
  } | null;
}

/**
 * One step of filling the projections: the names of all projections, rows of changed offsets removed, a range filled, a
 * range that exceeded a limit and is repeated, or a projection that failed. After a slow range of a user's projection, the
 * others continue at once.
 */
export type ProjectionStep =
  | { readonly kind: 'listed'; readonly names: readonly string[] }
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'filled';
      readonly name: string;
      readonly seconds: number;
      readonly range: {
        /** Exclusive; null at the beginning of history. */
        readonly after: number | null;
        /** Inclusive. */
        readonly upTo: number;
        readonly rows: number;
        /** Checkpoint of the stream when the range was read. */
        readonly checkpoint: number;
        /** Whether no range of this projection is left. */
        readonly isLast: boolean;
      };
      readonly isSlow: boolean;
    }
  | { readonly kind: 'repeated'; readonly name: string; readonly isSlow: boolean }
  | { readonly kind: 'failed'; readonly name: string; readonly error: IndexerError; readonly isSlow: boolean };

/** Result of one background pass over packages. */
export interface PackageFacts {
  /** Packages read. */
  readonly packages: number;
  /** Packages that were refused in this pass. Each is reported once. */
  readonly refused: readonly RefusedPackage[];
  /** Typed views created or replaced. */
  readonly views: number;
  readonly failedViews: readonly { readonly view: string; readonly error: IndexerError }[];
}

/**
 * `options`: the filter was extended, and the options in `behind` still contain the previous filter; `behind` is empty
 * if all options match the current filter. `set`: the filter is in force. `gathering`: contracts that were active at an
 * offset are being read. `done`: they are part of the stream. `replaced`: nothing was stored under the filter of a
 * previous start, and the configured filter replaced it. `earlier`: earlier history under the filter is also part of
 * the stream, after an offset. `late`: the extension is postponed, and the stream continues. `delayMs` is the time
 * until the next attempt, undefined if there is none.
 */
export type FilterExtensionFacts =
  | { readonly kind: 'options'; readonly behind: readonly string[] }
  | { readonly kind: 'replaced'; readonly difference: string }
  | { readonly kind: 'set' | 'gathering' | 'done' | 'earlier'; readonly offset: number }
  | { readonly kind: 'late'; readonly error: IndexerError; readonly delayMs: number | undefined };

/**
 * `read`: the release at the beginning of a session. `lacking` is set if contracts that were in transit between
 * synchronizers when the list was read may be missing. `other`: an interrupted seed cannot resume with its token,
 * because the participant has been upgraded since.
 */
export type ReleaseFacts =
  | {
      readonly kind: 'read';
      readonly version: string | undefined;
      readonly isKnown: boolean;
      readonly lacking: { readonly seedRelease: string | null; readonly offset: number } | undefined;
    }
  | {
      readonly kind: 'other';
      readonly version: string | undefined;
      readonly seedRelease: string | null;
      readonly offset: number;
      readonly contracts: number;
    };

/** One transaction of completions. */
export interface CompletionFacts {
  /** Completions are stored up to here. */
  readonly checkpoint: number;
  readonly accepted: number;
  /** Number of rejected commands by the ledger's error code; `unknown` counts rejections without a code. */
  readonly rejected: ReadonlyMap<string, number>;
  /** Names in the completions that this version does not know. */
  readonly unknown: readonly UnknownNameCount[];
}

/** The last result of one kind of `verify`. */
export interface VerifiedFacts {
  /** `invariants`, `acs`, `tail`, `range`, `tokens` or `projections`. */
  readonly kind: string;
  readonly atOffset: number;
  /** Start of the verification, milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly seconds: number;
  /** Number of differences; undefined if it could not be determined. */
  readonly different: number | undefined;
}

/**
 * Result of requesting the range from the checkpoint to the ledger end. `empty`: the range contains no update, and the
 * checkpoint moves. `undelivered`: the range contains an update that the stream has not delivered. `obsolete`: the
 * stream has delivered a frame in the meantime. `refused`: the request failed.
 */
export type ProbeAnswer = 'empty' | 'undelivered' | 'obsolete' | 'refused';

/** The activity that the stream currently waits for: frames of the ledger, decoding, or the database. */
export type WorkPart = 'source' | 'decode' | 'database';

/** The stream itself: its session, its frames and batches, and its failures. */
export interface StreamObserver {
  /** The stored checkpoint was read. The identity of the ledger is not verified yet. */
  storedFound(checkpoint: number): void;
  /**
   * A session begins. It was verified that the ledger is the indexed ledger.
   * @param checkpoint the stored checkpoint
   * @param participantId undefined when the ledger's user may not read it
   */
  sessionOpened(participantId: string | undefined, checkpoint: number | null): void;
  phaseChanged(phase: Phase, reason?: IndexerError): void;
  /**
   * A stream is opened with this token.
   * @param expiresAt seconds since 1970, undefined when not known
   * @param renewal true if the token replaces the token of a running stream
   */
  tokenTaken(expiresAt: number | undefined, renewal: boolean): void;
  connected(stream: 'updates' | 'active_contracts'): void;
  /** `code` is the close code as text, or `error_frame`, `no_pong`, `stopped`, `renewed` (for a newer token). */
  disconnected(stream: 'updates' | 'active_contracts', code: string): void;
  frameReceived(bytes: number): void;
  queueChanged(queue: QueueFacts): void;
  /** From now on, the stream waits for this activity. Called a few times per batch. */
  busyWith(workPart: WorkPart): void;
  /** The socket of the ledger was paused for this long because the database is slower than the ledger. */
  backpressure(seconds: number): void;
  batchCommitted(batch: BatchFacts): void;
  /** An update that could not be stored was quarantined completely. The checkpoint is now past this update. */
  quarantined(offset: number, error: IndexerError): void;
  /** An update that the ledger sent out of order was missing and is now stored. */
  lateStored(offset: number): void;
  /** A failure and the decision about it: `delayMs` is the time until the next attempt, undefined if there is none. */
  failed(stage: 'ledger' | 'store' | 'pipeline', error: IndexerError, delayMs: number | undefined): void;
}

export interface SeedObserver {
  progress(seed: SeedProgressFacts): void;
  done(seed: SeedProgressFacts): void;
}

/** Results of polling the ledger and the database. */
export interface PollObserver {
  /** The current holder of the writer lock; undefined if the lock is free. */
  lockHeld(holder: LockHolder | undefined, isOwnLock: boolean): void;
  /** The ledger returned this ledger end. */
  ledgerEnd(offset: number): void;
  /** The ledger returned the offset up to which it is pruned. It is 0 if the ledger was never pruned. */
  pruned(offset: number): void;
  /** No frames arrived although the ledger end is ahead, so the ledger was queried for updates in this range. */
  idleProbed(probeAnswer: ProbeAnswer, error?: IndexerError): void;
  /**
   * The latest results of `verify`, which is a separate process. There is one for each kind of verification that was
   * ever run.
   */
  verified(results: readonly VerifiedFacts[]): void;
  /** Number of contracts that are neither active nor ended, because their parties left the participant. */
  contractsUnhosted(count: number): void;
}

export interface PackageObserver {
  /** Packages were read or refused, or typed views created. */
  read(facts: PackageFacts): void;
  /** Packages or views failed temporarily. Ingestion continues. @param delayMs time until the next attempt */
  failed(error: IndexerError, delayMs: number): void;
}

export interface InterfaceObserver {
  /**
   * Called at the beginning of a session, with the requested interfaces and the offset from which their views are
   * stored.
   */
  interfacesRequested(interfaces: readonly RequestedInterface[]): void;
  /** Views of interfaces that the participant did not know before are being staged from this offset. */
  gathering(interfaces: readonly string[], completeFrom: number): void;
  /** The staged views are part of the stream. @param views number of new views */
  added(interfaces: readonly string[], views: number): void;
  /**
   * Views could not be staged. The stream continues without them.
   * @param delayMs time until the next attempt
   */
  failed(error: IndexerError, delayMs: number): void;
}

export interface FilterExtensionObserver {
  /** Called at the beginning of a session, and when an extended filter comes into force. */
  changed(facts: FilterExtensionFacts): void;
}

export interface ReleaseObserver {
  /**
   * The release of the participant in this session, and the release that returned the list that the stream began with.
   */
  found(facts: ReleaseFacts): void;
}

export interface CompletionObserver {
  /** Completions are not followed for this reason. May be called repeatedly. */
  off(reason: string, error?: IndexerError): void;
  /** Completions are followed from this offset. */
  followed(checkpoint: number): void;
  stored(facts: CompletionFacts): void;
  /** Completions after `from` and up to `to` were pruned before they were read. */
  skipped(from: number, to: number): void;
  /**
   * Completions could not be followed. The stream continues without them.
   * @param delayMs time until the next attempt
   */
  failed(error: IndexerError, delayMs: number): void;
}

export interface RetentionObserver {
  /** Old history is being pruned. Called after each transaction and at the end. */
  pruned(facts: PruneFacts): void;
  /** Pruning failed. The stream continues. @param delayMs time until the next attempt */
  failed(error: IndexerError, delayMs: number): void;
}

export interface ProjectionObserver {
  /** A step is done. A failed projection is parked; the stream and the other projections continue. */
  stepped(step: ProjectionStep): void;
  /** A step failed and is repeated. @param delayMs time until the next attempt */
  failed(error: IndexerError, delayMs: number): void;
}

/** How long traffic lasts on a synchronizer. An undefined value has a missing input. */
export interface TrafficRunway {
  readonly synchronizer: string;
  readonly trafficSeconds: number | undefined;
  readonly amuletSeconds: number | undefined;
  /** Record time of the newest purchase, seconds since 1970. */
  readonly lastBoughtAt: number | undefined;
}

export interface TrafficObserver {
  /** The runway of every synchronizer was read; empty when the session ends. */
  read(runways: readonly TrafficRunway[]): void;
  /** The runway could not be read. @param delayMs time until the next attempt */
  failed(error: IndexerError, delayMs: number): void;
}

export interface JobObserver {
  /** The background jobs and their progress, after each poll. */
  seen(jobs: readonly Job[]): void;
}

/** One observer for each part of the pipeline. A background job uses its own observer. */
export interface Observers {
  readonly stream: StreamObserver;
  readonly seed: SeedObserver;
  readonly polls: PollObserver;
  readonly release: ReleaseObserver;
  readonly packages: PackageObserver;
  readonly interfaces: InterfaceObserver;
  readonly filterExtension: FilterExtensionObserver;
  readonly completions: CompletionObserver;
  readonly retention: RetentionObserver;
  readonly projections: ProjectionObserver;
  readonly traffic: TrafficObserver;
  readonly jobs: JobObserver;
}
