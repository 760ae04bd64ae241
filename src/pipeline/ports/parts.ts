/** The parts from which the pipeline is built. The composition root assembles them once. */
import type { ParticipantRelease } from '../../ledger/api/release.ts';
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import type { TokenSource } from '../../ledger/access/token.ts';
import type { Phase } from '../../model/stream.ts';
import type { UnknownPolicy } from '../../model/unknown.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { PollIntervals } from '../../config/pace.ts';
import type { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { Commits } from './commits.ts';
import type { Observers, ProjectionStep, PruneFacts, StreamObserver, TrafficRunway } from './observer.ts';
import type { Sink, ViewStaging } from './sink.ts';
import type { LedgerReads, OpenStream } from './source.ts';
import type { Tracer } from './tracer.ts';
import type { EarlierStorage } from './earlier.ts';
import type { FilterExtensionStorage } from './filter-extension.ts';

export interface PipelineLimits {
  readonly batchUpdates: number;
  readonly batchBytes: number;
  readonly bufferUpdates: number;
  readonly bufferBytes: number;
  /** Maximum number of concurrent batch writes to the database. The writes commit in order. */
  readonly writeConcurrency: number;
  readonly retryMaxDelayMs: number;
  /** Milliseconds. If a bounded run stores nothing for this long, it ends with the failure that prevents progress. */
  readonly progressTimeoutMs: number;
  /** Interval of ledger-end polls; milliseconds. */
  readonly pollMs: number;
  /** Time without a frame after which the idle stream is probed, and minimum interval of probes; milliseconds. */
  readonly idleProbeAfterMs: number;
  /**
   * Milliseconds. If a stream has no frame for this long although the ledger end advances, it is disconnected and
   * reopened.
   */
  readonly silenceMs: number;
}

/** An offset, or `end` for the ledger end when the run begins; undefined if the run has no end. */
export type StopAt = number | 'end' | undefined;

/** How to prune old history. */
export interface Retention {
  /** Interval of retention passes, milliseconds. */
  readonly everyMs: number;
  /**
   * Removes expired history, in short transactions. @throws IndexerError STORE_NOT_PERMITTED, or the error of Postgres
   */
  prune(stop: AbortSignal, onProgress: (facts: PruneFacts) => void): Promise<PruneFacts>;
}

/** Updates the projections after the stream, one short step at a time. */
export interface Projections {
  /**
   * Does the next step.
   *
   * @returns undefined if there is nothing to do now, `off` if there will be nothing to do in this session
   * @throws IndexerError for failures that a later step may not have
   */
  step(): Promise<ProjectionStep | 'off' | undefined>;
  close(): Promise<void>;
}

/** Reads how long the traffic of the participant lasts. */
export interface Traffic {
  /** Interval of reads, milliseconds. */
  readonly everyMs: number;
  /** @throws IndexerError for failures that a later read may not have */
  read(stop: AbortSignal): Promise<readonly TrafficRunway[]>;
}

export interface PipelineParts {
  readonly ledger: LedgerReads;
  /** The same ledger, for requests that are repeated at intervals and therefore not retried. */
  readonly polledLedger: Pick<LedgerReads, 'state'>;
  readonly openStream: OpenStream;
  readonly tokenSource: TokenSource;
  readonly sink: Sink;
  /**
   * Set for a stream that was switched to another participant; see
   * `src/pipeline/participant/with-participant-offsets.ts`.
   */
  readonly participantOffsets?: ParticipantOffsets | undefined;
  /** The participant's release when the session began. */
  readonly release: ParticipantRelease;
  /** Includes the interfaces that are currently requested; see `src/pipeline/proof/interfaces.ts`. */
  readonly filter: LedgerFilter;
  /** The configured interfaces: ids and names of presets. */
  readonly wantedInterfaces: readonly string[];
  /** Staging area for views of interfaces that were added later. */
  readonly viewStaging: () => Promise<ViewStaging>;
  /** Staging area for active contracts of an extended filter. */
  readonly filterExtensionPlace: () => Promise<FilterExtensionStorage>;
  /** Storage for history from before the filter was extended. */
  readonly earlierPlace: () => Promise<EarlierStorage>;
  /** Undefined if all history is kept. */
  readonly retention: Retention | undefined;
  /** Opens the projections of a session. Undefined if there is no database, as in tests of the pipeline. */
  readonly projections: (() => Projections) | undefined;
  /** Undefined for a bounded run, and if there is no database. */
  readonly traffic: Traffic | undefined;
  /**
   * `whole`: everything that the participant returns, beginning with the first update or with the active contracts at
   * its pruned offset.
   */
  readonly start: 'seed' | 'genesis' | 'oldest' | 'whole' | number;
  /** The last offset to store. The run ends at this offset. */
  readonly stopAt: StopAt;
  readonly observers: Observers;
  readonly commits: Pick<Commits, 'reached'>;
  /** Undefined if tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Whether an update that cannot be stored is quarantined; otherwise it stops the stream. */
  readonly quarantine: boolean;
  /** Called with the offset before an update is quarantined. If undefined, any update may be quarantined. */
  readonly mayQuarantine?: (offset: number) => Promise<boolean>;
  /** Handling of updates of a kind that this version does not know. */
  readonly unknownUpdates: UnknownPolicy;
  /** Whether completions are followed, if the participant returns them. */
  readonly completions: 'auto' | 'off';
  readonly limits: PipelineLimits;
  readonly pace: PollIntervals;
  /** Aborted when the operator requests a stop. */
  readonly stop: AbortSignal;
}

/** The phase is changed only here. The observer is notified only if the phase, or the error in it, changes. */
export class PhaseState {
  readonly #observer: StreamObserver;
  #phase: Phase | undefined;
  #reason: IndexerError | undefined;

  constructor(observer: StreamObserver) {
    this.#observer = observer;
  }

  get current(): Phase | undefined {
    return this.#phase;
  }

  change(phase: Phase, reason?: IndexerError): void {
    const isSameReason = reason?.code === this.#reason?.code && reason?.message === this.#reason?.message;
    if (phase === this.#phase && isSameReason) return;
    this.#phase = phase;
    this.#reason = reason;
    this.#observer.phaseChanged(phase, reason);
  }
}
