/** What the pipeline is built from; assembled once by the composition root. */
import type { ParticipantRelease } from '../../ledger/api/release.ts';
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import type { TokenSource } from '../../ledger/access/token.ts';
import type { Phase } from '../../model/stream.ts';
import type { UnknownPolicy } from '../../model/unknown.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { Pace } from '../../config/pace.ts';
import type { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { Commits } from './commits.ts';
import type { Observers, PruneFacts, StreamObserver } from './observer.ts';
import type { Sink, ViewStaging } from './sink.ts';
import type { LedgerQuestions, OpenStream } from './source.ts';
import type { Tracer } from './tracer.ts';
import type { EarlierPlace } from './earlier.ts';
import type { FilterExtensionPlace } from './filter-extension.ts';

export interface PipelineLimits {
  readonly batchUpdates: number;
  readonly batchBytes: number;
  readonly bufferUpdates: number;
  readonly bufferBytes: number;
  /** Batches under way to the database at the same time; they commit in order. */
  readonly writeConcurrency: number;
  readonly retryMaxDelayMs: number;
  /** A run with an end that stores nothing for so long ends with the failure that hinders it; milliseconds. */
  readonly progressTimeoutMs: number;
  /** Polls of the ledger end; milliseconds. */
  readonly pollMs: number;
  /** A stream without a frame for so long is asked about, and no sooner again; milliseconds. */
  readonly idleProbeAfterMs: number;
  /** A stream without a frame for so long while the ledger end rises is cut and opened again; milliseconds. */
  readonly silenceMs: number;
}

/** An offset, or `end`: the ledger end when the run begins. Undefined: run for ever. */
export type StopAt = number | 'end' | undefined;

/** How old history is pruned. */
export interface Retention {
  /** From one look to the next, milliseconds. */
  readonly everyMs: number;
  /** Removes what is too old, in short transactions. @throws IndexerError STORE_NOT_PERMITTED, or what Postgres says */
  prune(stop: AbortSignal, onProgress: (facts: PruneFacts) => void): Promise<PruneFacts>;
}

export interface PipelineParts {
  readonly ledger: LedgerQuestions;
  /** The same ledger, for questions that are asked again rather than waited for. */
  readonly polledLedger: Pick<LedgerQuestions, 'state'>;
  readonly openStream: OpenStream;
  readonly tokenSource: TokenSource;
  readonly sink: Sink;
  /** Set in a session of a stream that was switched to another participant; see `src/pipeline/participant/with-participant-offsets.ts`. */
  readonly participantOffsets?: ParticipantOffsets | undefined;
  /** The participant's, as it was when the session began. */
  readonly release: ParticipantRelease;
  /** With the interfaces that are asked for now; see `src/pipeline/proof/interfaces.ts`. */
  readonly filter: LedgerFilter;
  /** The interfaces that are wanted, as they are configured: ids and names of presets. */
  readonly wantedInterfaces: readonly string[];
  /** Where views of interfaces that came later are gathered beside the stream. */
  readonly viewStaging: () => Promise<ViewStaging>;
  /** Where active contracts of a wider filter are gathered beside the stream. */
  readonly filterExtensionPlace: () => Promise<FilterExtensionPlace>;
  /** Where history from before a wider filter is stored. */
  readonly earlierPlace: () => Promise<EarlierPlace>;
  /** Undefined: all history is kept. */
  readonly retention: Retention | undefined;
  /** `whole`: everything the participant shows, from the first update on or from what was active where it was pruned. */
  readonly start: 'seed' | 'genesis' | 'oldest' | 'whole' | number;
  /** The last offset to store; the run ends there. */
  readonly stopAt: StopAt;
  readonly observers: Observers;
  readonly commits: Pick<Commits, 'reached'>;
  /** Undefined: nobody listens to spans. */
  readonly tracer?: Tracer | undefined;
  /** Whether an update that cannot be stored is set aside; otherwise it stops the stream. */
  readonly quarantine: boolean;
  /** Asked before, with its offset; undefined: any may be. */
  readonly mayQuarantine?: (offset: number) => Promise<boolean>;
  /** What becomes of an update of a kind this version does not know. */
  readonly unknownUpdates: UnknownPolicy;
  /** Whether completions are followed where the participant shows them. */
  readonly completions: 'auto' | 'off';
  readonly limits: PipelineLimits;
  readonly pace: Pace;
  /** Aborted when the operator asks to stop. */
  readonly stop: AbortSignal;
}

/** The one place where the phase changes; tells the observer of changes only, also of another error in the same phase. */
export class PhaseKeeper {
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
    const same = reason?.code === this.#reason?.code && reason?.message === this.#reason?.message;
    if (phase === this.#phase && same) return;
    this.#phase = phase;
    this.#reason = reason;
    this.#observer.phaseChanged(phase, reason);
  }
}
