/**
 * Derives the verdict, the status document and the rates from what the observer reports, by an injected monotonic clock.
 */
import { sideOf } from '../../errors/catalogue.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { holderText, type LockHolder, type Phase } from '../../model/stream.ts';
import { type UnknownName, UnknownNames } from '../../model/unknown.ts';
import type { BatchFacts, SeedFacts, StretchAnswer } from '../../pipeline/ports/observer.ts';
import { CatchUp, type CatchUpProgress, Lag } from '../figures/lag.ts';
import { Currency } from './currency.ts';
import { type HealthFacts, type HealthState, isBlind, verdict, type Verdict } from './health.ts';
import { scrub } from '../figures/scrub.ts';
import { MeanWindow, RateWindow, rounded, roundedOrNull, share, TemplateRates } from '../figures/rates.ts';
import { inWords, type RecentError, RecentErrors } from './recent-errors.ts';
import { RetentionProgress, type RetentionStatus } from './retention-progress.ts';
import { WorkProgress, type WorkStatus } from './work-progress.ts';
import { type Why, whyBehind } from './why-behind.ts';
import type { ByPart, WorkClock } from '../figures/work-clock.ts';

/** What the health of a process is judged by, and where it is told. */
export interface HealthOptions {
  readonly version: string;
  /** `host:port/name`, without anything secret. */
  readonly database?: string;
  readonly schema: string;
  readonly stalledAfterMs: number;
  /** Without having learned the ledger end, or received a frame, for so long, nothing is said of it; 10 s by default. */
  readonly blindAfterMs?: number;
  /** Told once, when everything up to the ledger end is stored for the first time. */
  readonly onLive?: () => void;
  /** Knows where the time of the stream goes. */
  readonly work?: Pick<WorkClock, 'shares'>;
  /** Monotonic milliseconds; `performance.now` by default. */
  readonly now?: () => number;
  /** Milliseconds since 1970; `Date.now` by default. */
  readonly wallNow?: () => number;
}

/** What becomes of submitted commands: followed, not asked for or not shown, or failing for now. */
export interface CompletionStatus {
  readonly state: 'waiting' | 'following' | 'off' | 'failing';
  readonly because: string;
  /** Stored up to here; null until it is known. */
  readonly checkpoint: number | null;
}

/** What `/status` answers. Counts are since the start of the process. */
export interface StatusDocument {
  readonly state: HealthState;
  readonly because: string;
  /** What to do about the error that `because` names; null where it names none. */
  readonly remedy: string | null;
  readonly checkpoint: number | null;
  readonly ledgerEnd: number | null;
  /** Since the ledger end was learned. */
  readonly ledgerEndAgeSeconds: number | null;
  readonly offsetDistance: number | null;
  /** Age of the newest record time stored, or time since everything was stored, if shorter; 0 when everything is known to be. */
  readonly lagSeconds: number | null;
  readonly updatesPerSecond: number;
  readonly eventsPerSecond: number;
  readonly seed: { readonly contracts: number; readonly offset: number; readonly done: boolean } | null;
  /** Contracts per second while seeding, else 0. */
  readonly seedPerSecond: number;
  /** Null unless catching up. */
  readonly catchUp: CatchUpProgress | null;
  /** BEGIN to COMMIT, mean of the batches of the last ten seconds; null without any. */
  readonly commitMilliseconds: number | null;
  /** From record time to commit, mean of the newest updates of those batches; null without any. */
  readonly storedAfterSeconds: number | null;
  /** Shares of the last ten seconds, 0 to 1, spent waiting for the source, decoding, and waiting for the database. */
  readonly work: ByPart | null;
  /** Why the stream is behind, or that it is not. */
  readonly why: Why;
  /** Contracts that are neither active nor ended, because their parties left the participant; null until counted. */
  readonly contractsUnknown: number | null;
  /** Whether completions are followed beside the stream, and how far. */
  readonly completions: CompletionStatus;
  /** Interfaces that are wanted and that the participant does not know. */
  readonly interfacesWaiting: readonly string[];
  /** Interfaces whose views are gathered beside the stream. */
  readonly interfacesGathering: readonly string[];
  /** Options that name a filter which was widened since; empty when all say what is in force. */
  readonly optionsBehind: readonly string[];
  /** Parties of LEDGER_PARTIES that the participant does not know. */
  readonly partiesUnknown: readonly string[];
  /** What INDEXER_KEEP has pruned since the last look began; null without it, and before the first look. */
  readonly retention: RetentionStatus | null;
  /** What was asked for beside the stream and takes long, whoever does it; the last of each name. */
  readonly works: readonly WorkStatus[];
  /** What the ledger sent and this version does not know. */
  readonly unknown: readonly UnknownName[];
  /** The last kinds of failures, newest first; `lastError` is the first of them. */
  readonly errors: readonly RecentError[];
  readonly counts: {
    readonly updates: Readonly<Record<string, number>>;
    readonly events: Readonly<Record<string, number>>;
  };
  readonly lastError: { readonly code: string; readonly message: string; readonly at: string } | null;
  readonly participantId: string | null;
  /** The session with the right to write, of this process or another one; null while it is not known. */
  readonly lockHolder: LockHolder | null;
  /** Which database it writes to, `host:port/name` as its own URL says it; null where nobody said. */
  readonly database: string | null;
  readonly schema: string;
  readonly version: string;
  readonly startedAt: string;
}

export class HealthTracker {
  readonly now: () => number;
  readonly wallNow: () => number;
  readonly unknown = new UnknownNames();
  readonly retention = new RetentionProgress();
  readonly works = new WorkProgress();
  optionsBehind: readonly string[] = [];
  partiesUnknown: readonly string[] = [];
  readonly #options: HealthOptions;
  readonly #startedAt: number;
  readonly #updates = new Map<string, number>();
  readonly #events = new Map<string, number>();
  readonly #updateRate = new RateWindow();
  readonly #eventRate = new RateWindow();
  readonly #seedRate = new RateWindow();
  readonly #commits = new MeanWindow();
  readonly #delays = new MeanWindow();
  readonly #templates = new TemplateRates();
  readonly #catchUp = new CatchUp();
  readonly #errors = new RecentErrors();
  readonly #lag = new Lag();
  #phase: Phase = 'starting';
  #phaseSinceMs: number;
  #because: IndexerError | undefined;
  #checkpoint: number | undefined;
  #ledgerEnd: number | undefined;
  #learnedAtMs: number | undefined;
  #frameAtMs: number | undefined;
  #unlearnedBecause: IndexerError | undefined;
  #waitingSinceMs: number | undefined;
  /** What came of asking for what lies between the checkpoint and the ledger end; undefined: not asked. */
  #stretch: StretchAnswer | undefined;
  #committedAtMs: number | undefined;
  readonly #currency = new Currency();
  #seed: { contracts: number; offset: number; done: boolean } | undefined;
  #lastError: StatusDocument['lastError'] = null;
  #contractsUnknown: number | null = null;
  #completions: CompletionStatus = { state: 'waiting', because: 'the stream has not begun', checkpoint: null };
  #interfaces = { interfacesWaiting: [] as readonly string[], interfacesGathering: [] as readonly string[] };
  #participantId: string | undefined;
  #storedFound: number | undefined;
  #lockHolder: LockHolder | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.now = options.now ?? (() => performance.now());
    this.wallNow = options.wallNow ?? (() => Date.now());
    this.#startedAt = this.wallNow();
    this.#phaseSinceMs = this.now();
  }

  get phase(): Phase {
    return this.#phase;
  }

  get checkpoint(): number | undefined {
    return this.#checkpoint;
  }

  get ledgerEnd(): number | undefined {
    return this.#ledgerEnd;
  }

  /** Contracts per second while seeding. */
  get seedRate(): number {
    return this.#seedRate.perSecond(this.now());
  }

  /** Events per second of a template, named `package:Module:Entity`. */
  templateRate(template: string): number {
    return rounded(this.#templates.perSecond(this.now(), template));
  }

  /** The participant that is read, once known. */
  identify(participantId: string): void {
    this.#participantId = participantId;
  }

  /** Who has the right to write. True when it is another session than was known. */
  lockHeld(holder: LockHolder | undefined): boolean {
    const isNew = holder?.pid !== this.#lockHolder?.pid;
    this.#lockHolder = holder;
    return isNew;
  }

  /** Interfaces that the stream does not ask for yet. */
  interfacesWanted(waiting: readonly string[], gathering: readonly string[]): void {
    this.#interfaces = { interfacesWaiting: waiting, interfacesGathering: gathering };
  }

  phaseChanged(phase: Phase, because: IndexerError | undefined): void {
    // First: the verdict is that of the phase that ends, for as long as it lasted.
    if (this.#currency.phaseChanged(phase, this.verdict().ready)) this.#options.onLive?.();
    // Trying again in the same phase must not restart the clock that says for how long it has failed.
    if (phase !== this.#phase) this.#phaseSinceMs = this.now();
    this.#phase = phase;
    this.#because = because;
  }

  batchCommitted(batch: BatchFacts): void {
    const nowMs = this.now();
    this.#committedAtMs = nowMs;
    if (batch.recordTimeMs !== undefined) {
      this.#lag.recorded(batch.recordTimeMs);
      this.#delays.add(nowMs, Math.max(0, this.wallNow() - batch.recordTimeMs) / 1000);
    }
    this.#commits.add(nowMs, 1000 * batch.commitSeconds);
    let updates = 0;
    for (const [kind, count] of batch.updates) {
      add(this.#updates, kind, count);
      if (kind !== 'offset_checkpoint') updates += count;
    }
    let events = 0;
    for (const [type, byTemplate] of batch.events) {
      for (const [template, count] of byTemplate) {
        add(this.#events, type, count);
        if (batch.checkpoint !== undefined) this.#templates.add(nowMs, template, count);
        events += count;
      }
    }
    this.#updateRate.add(nowMs, updates);
    // What a seed reads has its own rate: it says nothing about how busy the ledger is.
    if (batch.checkpoint !== undefined) this.#eventRate.add(nowMs, events);
  }

  seedProgress(seed: SeedFacts, done: boolean): void {
    const before = this.#seed?.contracts ?? 0;
    // A seed that starts over counts from zero again.
    this.#seedRate.add(this.now(), seed.contracts >= before ? seed.contracts - before : seed.contracts);
    this.#seed = { contracts: seed.contracts, offset: seed.offset, done };
  }

  contractsUnknown(count: number): void {
    this.#contractsUnknown = count;
  }

  get completions(): CompletionStatus {
    return this.#completions;
  }

  /** A checkpoint that is not told is as it was. */
  completionsChanged(change: Omit<CompletionStatus, 'checkpoint'> & { readonly checkpoint?: number }): void {
    this.#completions = { ...this.#completions, ...change };
  }

  ledgerPolled(ledgerEnd: number): void {
    const wasReady = this.verdict().ready;
    this.#ledgerEnd = ledgerEnd;
    this.#currency.ledgerEndLearned(this.#distance(), this.#phase, wasReady);
    this.#lag.ledgerEndLearned(this.now(), this.#distance() === 0);
    this.#learnedAtMs = this.now();
    this.#unlearnedBecause = undefined;
    if (this.#distance() === 0) this.#waitingSinceMs = undefined;
    else this.#waitingSinceMs ??= this.now();
  }

  frameReceived(): void {
    this.#frameAtMs = this.now();
  }

  stretchAsked(answer: StretchAnswer): void {
    this.#stretch = answer;
  }

  failed(error: IndexerError): void {
    if (sideOf(error.code) === 'ledger') this.#unlearnedBecause = error;
    const at = new Date(this.wallNow());
    this.#lastError = { code: error.code, message: error.message, at: at.toISOString() };
    this.#errors.add(error, at);
  }

  verdict(): Verdict {
    return verdict(this.#facts(), this.now());
  }

  #facts(): HealthFacts {
    const { stalledAfterMs, blindAfterMs = 10_000 } = this.#options;
    return {
      phase: this.#phase,
      phaseSinceMs: this.#phaseSinceMs,
      checkpoint: this.#checkpoint,
      ledgerEnd: this.#ledgerEnd,
      learnedAtMs: this.#learnedAtMs,
      frameAtMs: this.#frameAtMs,
      unlearnedBecause: this.#unlearnedBecause && inWords(this.#unlearnedBecause),
      unlearnedRemedy: this.#unlearnedBecause && scrub(this.#unlearnedBecause.remedy),
      blindAfterMs,
      waitingSinceMs: this.#waitingSinceMs,
      committedAtMs: this.#committedAtMs,
      caughtUp: this.#currency.isCurrent,
      stalledAfterMs,
      because: this.#phase === 'standby' ? this.#heldBy() : this.#because && inWords(this.#because),
      remedy: this.#because && scrub(this.#because.remedy),
    };
  }

  status(): StatusDocument {
    const { state, because, remedy = null } = this.verdict();
    const nowMs = this.now();
    const distance = this.#distance();
    const { database = null, schema, version } = this.#options;
    return {
      state,
      because,
      remedy,
      checkpoint: this.#checkpoint ?? this.#storedFound ?? null,
      ledgerEnd: this.#ledgerEnd ?? null,
      ledgerEndAgeSeconds: this.#learnedAtMs === undefined ? null : rounded((nowMs - this.#learnedAtMs) / 1000),
      offsetDistance: distance ?? null,
      lagSeconds: this.#lagSeconds(distance),
      updatesPerSecond: rounded(this.#updateRate.perSecond(nowMs)),
      eventsPerSecond: rounded(this.#eventRate.perSecond(nowMs)),
      seed: this.#seed ?? null,
      ...this.#work(state, because, distance),
      contractsUnknown: this.#contractsUnknown,
      completions: this.#completions,
      ...this.#interfaces,
      optionsBehind: this.optionsBehind,
      partiesUnknown: this.partiesUnknown,
      retention: this.retention.status(),
      works: this.works.status(),
      unknown: this.unknown.all,
      errors: this.#errors.all,
      counts: { updates: Object.fromEntries(this.#updates), events: Object.fromEntries(this.#events) },
      lastError: this.#lastError,
      participantId: this.#participantId ?? null,
      lockHolder: this.#lockHolder ?? null,
      database,
      schema,
      version,
      startedAt: new Date(this.#startedAt).toISOString(),
    };
  }

  /** How fast it goes, and what holds it up. */
  #work(
    state: HealthState,
    because: string,
    distance: number | undefined,
  ): Pick<StatusDocument, 'seedPerSecond' | 'catchUp' | 'commitMilliseconds' | 'storedAfterSeconds' | 'work' | 'why'> {
    const nowMs = this.now();
    this.#catchUp.note(this.#phase, nowMs, this.#checkpoint, this.#ledgerEnd);
    const work = this.#options.work?.shares() ?? null;
    return {
      seedPerSecond: this.#phase === 'seeding' ? rounded(this.seedRate) : 0,
      catchUp: this.#catchUp.progress() ?? null,
      commitMilliseconds: roundedOrNull(this.#commits.mean(nowMs), 100),
      storedAfterSeconds: roundedOrNull(this.#delays.mean(nowMs), 1000),
      work: work && { source: share(work.source), decode: share(work.decode), database: share(work.database) },
      why: whyBehind({ state, because, distance, work, stretch: this.#stretch }),
    };
  }

  /** What the database holds, as long as the ledger was not asked whether it is the same: shown, and nothing is judged by it. */
  storedFound(checkpoint: number): void {
    this.#storedFound = checkpoint;
  }

  /** Everything up to this offset is in the database; first where this process resumes. */
  checkpointReached(checkpoint: number): void {
    if (checkpoint === this.#checkpoint) return;
    this.#checkpoint = checkpoint;
    this.#stretch = undefined;
    if (this.#ledgerEnd !== undefined && checkpoint >= this.#ledgerEnd) this.#lag.ledgerEndReached();
    // What is stored was there: the next poll of the ledger end is seconds away.
    if (this.#ledgerEnd !== undefined && checkpoint > this.#ledgerEnd) this.#ledgerEnd = checkpoint;
    this.#waitingSinceMs = (this.#distance() ?? 0) > 0 ? this.now() : undefined;
  }

  #heldBy(): string | undefined {
    return this.#lockHolder && holderText(this.#lockHolder);
  }

  #distance(): number | undefined {
    if (this.#checkpoint === undefined || this.#ledgerEnd === undefined) return undefined;
    return Math.max(0, this.#ledgerEnd - this.#checkpoint);
  }

  #lagSeconds(distance: number | undefined): number | null {
    if (distance === 0 && !isBlind(this.#facts(), this.now())) return 0;
    const seconds = this.#lag.seconds(this.now(), this.wallNow());
    return seconds === null ? null : rounded(seconds);
  }
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
