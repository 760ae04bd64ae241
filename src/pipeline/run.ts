/**
 * The only subscription of the program. Sessions run one after the other until a stop is requested or an error is
 * fatal. A session acquires the lock, connects, seeds if needed and follows. It starts from the database, never from
 * memory.
 */
import {
  EMPTY,
  concat,
  concatMap,
  defer,
  endWith,
  finalize,
  from,
  ignoreElements,
  lastValueFrom,
  map,
  merge,
  of,
  repeat,
  retry,
  takeWhile,
  type Observable,
} from 'rxjs';
import { sideOf } from '../errors/catalogue.ts';
import { withContext, toIndexerError, type IndexerError } from '../errors/indexer-error.ts';
import { assertStopReachable } from './intake/bound.ts';
import { isNamed, emptyRange, searchRangeOf, type OffsetRange } from './retry/isolate-failing-update.ts';
import { follow$, type FollowState } from './follow/follow.ts';
import { connect, type Connected } from './proof/identity.ts';
import { InterfaceWatch } from './interface-watch.ts';
import { FilterExtensionWatch } from './filter-extension.ts';
import { EarlierHistoryJob } from './earlier.ts';
import { CompletionWatch } from './background/completion-watch.ts';
import type { BackgroundJob } from './background/background-job.ts';
import { projecting$ } from './background/projection-watch.ts';
import { pruning$ } from './background/retention-watch.ts';
import { watchingTraffic$ } from './background/traffic-watch.ts';
import { PackageWatch } from './background/package-watch.ts';
import { PhaseState, type PipelineParts } from './ports/parts.ts';
import type { WriterLock } from './ports/sink.ts';
import { poll$ } from './background/poll.ts';
import { RetryLimits } from './retry/retry-limit.ts';
import { FailureCount, decide } from './retry/retry.ts';
import { seed$, skipSeed, type SeedOffsetSource } from './seed.ts';
import { acquireLock } from './background/standby.ts';
import { requestedJobs$ } from './background/job-watch.ts';
import { pauseForRights, pauseParked, isCallerRefused } from './retry/wait.ts';

/** Runs until `parts.stop` is aborted. @throws IndexerError when an error is fatal */
export async function runPipeline(parts: PipelineParts): Promise<void> {
  const run = new Run(parts);
  try {
    const sessions$ = run.sessions$().pipe(ignoreElements(), endWith('over'));
    await lastValueFrom(merge(sessions$, requestedJobs$(parts)).pipe(takeWhile((value) => value !== 'over')), {
      defaultValue: undefined,
    });
  } finally {
    await run.close();
  }
}

/**
 * Maximum number of seeds that are restarted because reassignments are in flight; after that, the stream parks for an
 * operator.
 */
const maxRefusedSeeds = 5;

class Run {
  readonly #parts: PipelineParts;
  readonly #phase: PhaseState;
  readonly #packages: PackageWatch;
  /** In the order in which their results are stored. */
  readonly #jobs: readonly BackgroundJob[];
  readonly #completions: CompletionWatch;
  #lock: WriterLock | undefined;
  readonly #failures = new FailureCount();
  readonly #patience: RetryLimits;
  /**
   * Whether the ledger has refused a name of the filter since something was stored. The next session then queries again
   * which interfaces the ledger knows.
   */
  #nameRefused = false;
  /** Consecutive requests for active contracts that the participant refused because of reassignments in flight. */
  #refusedInFlight = 0;
  /** Whether the filter in force includes interfaces. */
  #wantsInterfaces: boolean;
  /** Range that the next session processes one by one, to find the update or entry that Postgres rejects. */
  #apart = emptyRange;
  /** The last offset to store. `end` is replaced by the ledger end once that is known, for all sessions. */
  #stopAt: number | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#patience = new RetryLimits(parts);
    this.#phase = new PhaseState(parts.observers.stream);
    this.#wantsInterfaces = parts.wantedInterfaces.length > 0;
    this.#packages = new PackageWatch(parts);
    this.#jobs = [new InterfaceWatch(parts), new FilterExtensionWatch(parts), new EarlierHistoryJob(parts)];
    this.#completions = new CompletionWatch(parts);
    this.#phase.change('starting');
    parts.stop.addEventListener('abort', () => this.#phase.change('stopping'), { once: true });
  }

  sessions$(): Observable<unknown> {
    return defer(() => (this.#parts.stop.aborted ? EMPTY : this.#session$())).pipe(
      retry({ delay: (thrown) => this.#recover$(toIndexerError(thrown)) }),
    );
  }

  async close(): Promise<void> {
    for (const job of this.#jobs) await job.close?.();
    await this.#release();
  }

  async #release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    if (lock === undefined) return;
    this.#parts.observers.polls.lockHeld(undefined, false);
    await lock.release();
  }

  #session$(): Observable<unknown> {
    return defer(() => this.#acquire()).pipe(
      concatMap((lock) => {
        if (lock === undefined) return EMPTY;
        const session$ = defer(() => this.#connect()).pipe(
          concatMap((connected) => this.#work$(connected)),
          // A session that ended for a background job is followed by another session.
          repeat({ delay: () => (this.#goesOn() ? of(true) : EMPTY) }),
        );
        return merge(session$.pipe(endWith('done')), lock.lost).pipe(takeWhile((value) => value !== 'done'));
      }),
    );
  }

  #goesOn(): boolean {
    return this.#jobs.some(({ isReady }) => isReady) && !this.#parts.stop.aborted;
  }

  /** Waits as standby until this process holds the lock; undefined when a stop was requested. */
  async #acquire(): Promise<WriterLock | undefined> {
    this.#lock ??= await acquireLock(this.#parts, this.#phase, this.#patience);
    return this.#parts.stop.aborted ? undefined : this.#lock;
  }

  async #connect(): Promise<Connected> {
    const connected = await connect(this.#parts, { isInterfaceRefused: this.#nameRefused });
    this.#wantsInterfaces = connected.parts.wantedInterfaces.length > 0;
    let current = connected;
    for (const job of this.#jobs)
      if (await job.putIn(current)) current = await connect(this.#parts, { isInterfaceRefused: false });
    return current;
  }

  #work$(connected: Connected): Observable<unknown> {
    const { session, parts } = connected;
    const { stopAt, start } = parts;
    this.#stopAt ??= stopAt === 'end' ? connected.ledgerEnd : stopAt;
    if (this.#stopAt !== undefined) assertStopReachable(this.#stopAt, start, session.state, connected.pruned);
    if (session.state.seeded && session.state.checkpoint !== null) {
      return this.#follow$(connected, session.state.checkpoint);
    }
    this.#phase.change('seeding');
    const { pruned } = connected;
    const run = { apart: this.#takeApart(), onProgress: () => this.#progressed() };
    const seeded$ =
      start === 'seed' || (start === 'whole' && pruned > 0)
        ? seed$(parts, session, this.#seedAt(connected), run)
        : from(skipSeed(parts, session, pruned));
    return seeded$.pipe(
      concatMap((offset) => {
        if (offset === undefined) return EMPTY;
        this.#refusedInFlight = 0;
        // Entries stored without tokens do not count until the seed is published.
        this.#progressed();
        return concat(from([offset]), this.#follow$(connected, offset));
      }),
    );
  }

  /** The offset of the seed: the ledger end when the list is requested, unless another offset is required. */
  #seedAt({ parts, pruned, ledgerEnd }: Connected): SeedOffsetSource {
    if (parts.start === 'whole') return Math.min(pruned, this.#stopAt ?? Infinity);
    if (this.#stopAt !== undefined) return Math.min(ledgerEnd, this.#stopAt);
    return () => parts.ledger.state.ledgerEnd();
  }

  #follow$(connected: Connected, checkpoint: number): Observable<unknown> {
    let { ledgerEnd } = connected;
    // A batch that was in progress when the session failed may still be committed. That does not count as progress.
    let isOver = false;
    const setFollowPhase = (reachedOffset: number): void => {
      if (isOver || this.#parts.stop.aborted) return;
      if (reachedOffset >= ledgerEnd) this.#phase.change('live');
      else if (this.#phase.current !== 'live') this.#phase.change('catching_up');
    };
    const followState: FollowState = {
      checkpoint,
      lastFrameAt: () => performance.now(),
      renew: () => undefined,
      apart: this.#takeApart(),
      stopAt: this.#stopAt,
      onCommitted: (newCheckpoint) => {
        this.#progressed();
        this.#completions.stir();
        setFollowPhase(newCheckpoint);
      },
    };
    setFollowPhase(checkpoint);
    const polled$ = poll$(connected.parts, connected, followState, (end) => {
      ledgerEnd = end;
      setFollowPhase(followState.checkpoint);
    });
    const isBounded = this.#stopAt !== undefined;
    const jobs$ = merge(...this.#jobs.map((job) => job.watch$(connected, followState, isBounded))).pipe(
      map(() => undefined),
    );
    const updates$ = follow$(connected.parts, connected.session, followState);
    const followed$ = concat(updates$, this.#settled$(followState), isBounded ? jobs$ : EMPTY).pipe(endWith(undefined));
    const completions$ = this.#completions.watch$(connected, followState);
    const pruned$ = pruning$(connected.parts);
    const projected$ = projecting$(connected.parts, followState);
    const background$ = merge(
      polled$,
      this.#packages.watch$(),
      completions$,
      pruned$,
      projected$,
      watchingTraffic$(connected.parts),
      isBounded ? EMPTY : jobs$,
    );
    return merge(followed$, background$).pipe(
      takeWhile((value) => value !== undefined),
      finalize(() => {
        isOver = true;
      }),
    );
  }

  /** A bounded run ends only after the completions of its updates are stored. */
  #settled$({ stopAt }: FollowState): Observable<never> {
    if (stopAt === undefined) return EMPTY;
    return defer(() => this.#completions.settled(stopAt)).pipe(ignoreElements());
  }

  #takeApart(): OffsetRange {
    const range = this.#apart;
    this.#apart = emptyRange;
    return range;
  }

  /** Called when something was committed: failures are counted from here. */
  #progressed(): void {
    this.#failures.clear();
    this.#patience.renew();
    this.#nameRefused = false;
    this.#packages.stir();
  }

  #recover$(failure: IndexerError): Observable<unknown> {
    const { observers, limits, stop } = this.#parts;
    if (stop.aborted) return from([undefined]);
    const error = this.#withoutEnd(failure);
    if (isCallerRefused(error)) this.#parts.tokenSource.invalidate();
    const failureStreak = this.#failures.add(error);
    const range = searchRangeOf(error, failureStreak.repeated);
    this.#apart = range ?? this.#apart;
    // The stream parks for the update that is found, not for its batch.
    const search = range !== undefined && !isNamed(error);
    const retryDecision = decide(error, failureStreak, limits.retryMaxDelayMs, Math.random());
    const stage = sideOf(error.code);
    const isImmediate =
      (search && retryDecision.kind === 'again' && retryDecision.phase === 'parked') || this.#mayAskAnew(error);
    // A bounded run does not park, because its caller waits for the exit code.
    const canPark = isImmediate || this.#parts.stopAt === undefined;
    if (retryDecision.kind === 'give-up' || (retryDecision.phase === 'parked' && !canPark)) {
      observers.stream.failed(stage, error, undefined);
      throw error;
    }
    const delayMs = isImmediate ? 0 : retryDecision.delayMs;
    const exhausted = this.#patience.exhausted(error, delayMs);
    if (exhausted !== undefined) {
      observers.stream.failed(stage, exhausted, undefined);
      throw exhausted;
    }
    observers.stream.failed(stage, error, delayMs);
    this.#phase.change(isImmediate ? 'backing_off' : retryDecision.phase, error);
    return from(this.#wait(error, delayMs));
  }

  /**
   * A seed that starts over stores something each time, which is not progress if the participant finally refuses every
   * offset. So these refusals are counted separately.
   */
  #withoutEnd(error: IndexerError): IndexerError {
    if (error.code !== 'LEDGER_REASSIGNMENT_IN_FLIGHT') return error;
    this.#refusedInFlight += 1;
    return this.#refusedInFlight > maxRefusedSeeds ? withContext(error, { retry: 'park' }) : error;
  }

  /** True once: an interface that the participant does not know any more must not block the stream for all others. */
  #mayAskAnew({ code }: IndexerError): boolean {
    const isNew = code === 'LEDGER_FILTER_UNKNOWN' && this.#wantsInterfaces && !this.#nameRefused;
    this.#nameRefused ||= isNew;
    return isNew;
  }

  /**
   * Releases the lock if its connection may be broken, or if an operator is needed here, so that a standby can take
   * over.
   */
  async #wait(error: IndexerError, delayMs: number): Promise<void> {
    const isParked = this.#phase.current === 'parked';
    if (isParked || error.retry === 'fenced' || sideOf(error.code) === 'store') await this.#release();
    await (isParked ? pauseParked : pauseForRights)(this.#parts, error, delayMs);
  }
}
