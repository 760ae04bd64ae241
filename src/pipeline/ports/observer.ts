/**
 * The ports through which the pipeline tells what happens. The pipeline knows nothing of metrics or logs; whoever
 * implements them (src/observe) decides what becomes a log line, a counter or a gauge. No method may throw or block.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { LockHolder, Phase, WantedInterface, Job } from '../../model/stream.ts';
import type { UnknownName } from '../../model/unknown.ts';

/** What one committed database transaction contained. Counts are of this batch only. */
export interface BatchFacts {
  /** Undefined for entries of a seed: they do not count before it is published. */
  readonly checkpoint: number | undefined;
  /** Updates by kind: transaction, reassignment, topology, offset_checkpoint, unknown. */
  readonly updates: ReadonlyMap<string, number>;
  /** Events by type (created, archived, exercised, assigned, unassigned, topology), then by `package:Module:Entity`. */
  readonly events: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Rows written by table name. */
  readonly rows: ReadonlyMap<string, number>;
  /** What of it this version does not know. */
  readonly unknown: readonly UnknownName[];
  /** Transactions that the quick reader could not read and the scanner read. */
  readonly fallbackDecodedTransactions: number;
  /** Record time of the newest update or OffsetCheckpoint in the batch, milliseconds since 1970. */
  readonly recordTimeMs: number | undefined;
  readonly bytes: number;
  /** BEGIN to COMMIT, seconds. */
  readonly commitSeconds: number;
  /** Time spent parsing and building the rows of the batch, seconds. */
  readonly decodeSeconds: number;
}

export interface SeedFacts {
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

/** A package that cannot be read: its templates have no typed views until the next start. */
export interface RefusedPackage {
  readonly packageId: string;
  readonly error: IndexerError;
}

/** What one look at old history has done so far. */
export interface PruneFacts {
  /** Updates up to this offset go, but for what is active there. */
  readonly boundary: number;
  /** Rows removed since the look began. */
  readonly rows: number;
  /** Whether it is over. */
  readonly finished: boolean;
  /** Who keeps it from going as far as the configuration says; null when nobody does. */
  readonly heldBy: {
    readonly name: string;
    readonly offset: number;
    readonly since: Date;
    /** Only a prune up to an offset goes past it. */
    readonly isFutureUpdate?: true;
  } | null;
}

/** What one look at packages brought, beside ingestion. */
export interface PackageFacts {
  /** Packages read. */
  readonly packages: number;
  /** Told once each. */
  readonly refused: readonly RefusedPackage[];
  /** Typed views made or replaced. */
  readonly views: number;
  readonly failedViews: readonly { readonly view: string; readonly error: IndexerError }[];
}

/**
 * `options`: those that do not name the filter in force, because it was extended since; none when they do. `set`: the filter is
 * in force. `backfilling`: contracts that were active at an offset are read. `done`: they are part of the stream.
 * `replaced`: the filter of a former start had stored nothing, and the configured one took its place.
 * `earlier`: so is all that the filter shows of what was before, after an offset. `late`: not for
 * now; the stream goes on. `delayMs` until the next try, undefined when there is none.
 */
export type FilterExtensionFacts =
  | { readonly kind: 'options'; readonly behind: readonly string[] }
  | { readonly kind: 'replaced'; readonly difference: string }
  | { readonly kind: 'set' | 'gathering' | 'done' | 'earlier'; readonly offset: number }
  | { readonly kind: 'late'; readonly error: IndexerError; readonly delayMs: number | undefined };

/**
 * `read`: at the beginning of a session; `lacking` is set where contracts may be missing that were on their way between
 * synchronizers when the list was read. `other`: a seed that was cut cannot go on with its token, because the participant was
 * upgraded since.
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
  /** How many were rejected, by the ledger's error code; `unknown` where it told none. */
  readonly rejected: ReadonlyMap<string, number>;
  /** What of it this version does not know. */
  readonly unknown: readonly UnknownName[];
}

/** The last result of one kind of `verify`. */
export interface VerifiedFacts {
  /** sql, acs, tail or replay. */
  readonly kind: string;
  readonly atOffset: number;
  /** When it began, milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly seconds: number;
  /** Undefined when it could not be decided. */
  readonly different: number | undefined;
}

/**
 * What came of asking for the stretch from the checkpoint to the ledger end. `empty`: nothing lies in it, and the
 * checkpoint moves. `undelivered`: an update lies in it that the stream has not brought. `obsolete`: the stream spoke
 * meanwhile. `refused`: there was no answer.
 */
export type ProbeAnswer = 'empty' | 'undelivered' | 'obsolete' | 'refused';

/** What the stream is held up by, one at a time: the ledger's frames, decoding them, or the database. */
export type WorkPart = 'source' | 'decode' | 'database';

/** The stream itself: its session, its frames and batches, and its failures. */
export interface StreamObserver {
  /** What the database holds, before the ledger was asked whether it is the same. */
  storedFound(checkpoint: number): void;
  /**
   * A session begins: the ledger is proven to be ours, and this is where the database says we are.
   * @param participantId undefined when the ledger's user may not read it
   */
  sessionOpened(participantId: string | undefined, checkpoint: number | null): void;
  phaseChanged(phase: Phase, reason?: IndexerError): void;
  /**
   * A stream is opened with this token.
   * @param expiresAt seconds since 1970, undefined when not known
   * @param renewal true when the token replaces the one of a running stream
   */
  tokenTaken(expiresAt: number | undefined, renewal: boolean): void;
  connected(stream: 'updates' | 'active_contracts'): void;
  /** `code` is the close code as text, or `error_frame`, `no_pong`, `stopped`, `renewed` (for a newer token). */
  disconnected(stream: 'updates' | 'active_contracts', code: string): void;
  frameReceived(bytes: number): void;
  queueChanged(queue: QueueFacts): void;
  /** From now on the stream waits for this, or does it; called a few times per batch. */
  busyWith(part: WorkPart): void;
  /** The ledger's socket was paused for this long because the database is slower. */
  backpressure(seconds: number): void;
  batchCommitted(batch: BatchFacts): void;
  /** An update that could not be stored was set aside, whole; the checkpoint is past it. */
  quarantined(offset: number, error: IndexerError): void;
  /** An update that the ledger sent after later ones was missing and is stored now. */
  lateStored(offset: number): void;
  /** A failure and what was decided: `delayMs` until the next try, undefined when there is none. */
  failed(stage: 'ledger' | 'store' | 'pipeline', error: IndexerError, delayMs: number | undefined): void;
}

export interface SeedObserver {
  progress(seed: SeedFacts): void;
  done(seed: SeedFacts): void;
}

/** What is asked for again and again, of the ledger and of the database. */
export interface PollObserver {
  /** The holder of the writer lock; undefined when it is free. */
  lockHeld(holder: LockHolder | undefined, ours: boolean): void;
  /** The ledger returned its end. */
  ledgerEnd(offset: number): void;
  /** The ledger returned the offset up to which it is pruned; 0 = never. */
  pruned(offset: number): void;
  /** The stream was silent before the ledger end, and the ledger was asked whether anything lies between. */
  idleProbed(answer: ProbeAnswer, error?: IndexerError): void;
  /** What `verify`, another process, found last: one entry for each kind of comparison that was ever made. */
  verified(results: readonly VerifiedFacts[]): void;
  /** So many contracts are neither active nor ended, because their parties left the participant. */
  contractsUnhosted(count: number): void;
}

export interface PackageObserver {
  /** Packages were read or refused, or typed views made. */
  read(facts: PackageFacts): void;
  /** Packages could not be read or views not be made for now; ingestion goes on. `delayMs` until the next try. */
  failed(error: IndexerError, delayMs: number): void;
}

export interface InterfaceObserver {
  /** At the beginning of a session: the interfaces that are wanted, and from where on views of them are here. */
  wanted(interfaces: readonly WantedInterface[]): void;
  /** Views of interfaces that the participant came to know are being gathered, from this offset on. */
  gathering(interfaces: readonly string[], completeFrom: number): void;
  /** Those views are part of the stream; so many are new. */
  added(interfaces: readonly string[], views: number): void;
  /** Views could not be gathered for now; the stream goes on without them. `delayMs` until the next try. */
  failed(error: IndexerError, delayMs: number): void;
}

export interface FilterExtensionObserver {
  /** At the beginning of a session, and as a wider filter is taken into force. */
  changed(facts: FilterExtensionFacts): void;
}

export interface ReleaseObserver {
  /** What the session found of the release of the participant, and of the list that the stream began with. */
  found(facts: ReleaseFacts): void;
}

export interface CompletionObserver {
  /** Completions are not followed, and why; called again and again. */
  off(reason: string, error?: IndexerError): void;
  /** They are followed, from this offset on. */
  followed(checkpoint: number): void;
  stored(facts: CompletionFacts): void;
  /** Those after `from` and up to `to` were pruned before they were read. */
  skipped(from: number, to: number): void;
  /** They could not be followed for now; the stream goes on without them. `delayMs` until the next try. */
  failed(error: IndexerError, delayMs: number): void;
}

export interface RetentionObserver {
  /** Old history is being pruned, or was: called after each transaction, and at the end. */
  pruned(facts: PruneFacts): void;
  /** It could not be pruned for now; the stream goes on. `delayMs` until the next try. */
  failed(error: IndexerError, delayMs: number): void;
}

export interface JobObserver {
  /** The background jobs and their progress, after each look. */
  seen(jobs: readonly Job[]): void;
}

/** One observer for each part of the pipeline: a background job knows its own. */
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
  readonly jobs: JobObserver;
}
