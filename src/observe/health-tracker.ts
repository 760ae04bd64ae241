/**
 * Remembers what the observer reports, and derives from it the verdict, the status document and the rates. Holds
 * numbers only; it reads an injected monotonic clock and never measures or writes anything itself.
 */
import type { IndexerError } from '../errors.ts';
import type { Phase } from '../model/phase.ts';
import type { BatchFacts, SeedFacts } from '../pipeline/observer.ts';
import { verdict } from './health.ts';
import type { HealthState, Verdict } from './health.ts';
import { RateWindow } from './rate-window.ts';

/** What `/status` answers. Counts are since the start of the process. */
export interface StatusDocument {
  readonly state: HealthState;
  readonly because: string;
  readonly checkpoint: number | null;
  readonly ledgerEnd: number | null;
  readonly offsetDistance: number | null;
  /** Age of the newest record time stored; 0 when everything is stored. */
  readonly lagSeconds: number | null;
  readonly updatesPerSecond: number;
  readonly eventsPerSecond: number;
  readonly seed: { readonly contracts: number; readonly offset: number; readonly done: boolean } | null;
  readonly counts: {
    readonly updates: Readonly<Record<string, number>>;
    readonly events: Readonly<Record<string, number>>;
  };
  readonly lastError: { readonly code: string; readonly message: string; readonly at: string } | null;
  readonly participantId: string | null;
  readonly schema: string;
  readonly version: string;
  readonly startedAt: string;
}

export interface HealthOptions {
  readonly version: string;
  readonly schema: string;
  readonly stalledAfterMs: number;
  /** Told of every checkpoint that is in the database. */
  readonly onCheckpoint?: (checkpoint: number) => void;
  /** Monotonic milliseconds; `performance.now` by default. */
  readonly now?: () => number;
  /** Milliseconds since 1970; `Date.now` by default. */
  readonly wallNow?: () => number;
}

export class HealthTracker {
  readonly now: () => number;
  readonly wallNow: () => number;
  readonly #options: HealthOptions;
  readonly #startedAt: number;
  readonly #updates = new Map<string, number>();
  readonly #events = new Map<string, number>();
  readonly #updateRate = new RateWindow();
  readonly #eventRate = new RateWindow();
  readonly #seedRate = new RateWindow();
  #phase: Phase = 'starting';
  #phaseSinceMs: number;
  #because: string | undefined;
  #checkpoint: number | undefined;
  #ledgerEnd: number | undefined;
  #waitingSinceMs: number | undefined;
  #committedAtMs: number | undefined;
  #recordTimeMs: number | undefined;
  #caughtUp = false;
  #seed: { contracts: number; offset: number; done: boolean } | undefined;
  #lastError: StatusDocument['lastError'] = null;
  #participantId: string | undefined;

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

  /** The participant that is read, once known. */
  identify(participantId: string): void {
    this.#participantId = participantId;
  }

  /** A checkpoint that was there before this process wrote anything, i.e. where it resumes. */
  resumeAt(checkpoint: number): void {
    this.#moveCheckpoint(checkpoint);
  }

  phaseChanged(phase: Phase, because: IndexerError | undefined): void {
    // Trying again in the same phase must not restart the clock that says for how long it has failed.
    if (phase !== this.#phase) this.#phaseSinceMs = this.now();
    if (phase === 'live') this.#caughtUp = true;
    this.#phase = phase;
    this.#because = because === undefined ? undefined : `${because.code}: ${because.message}`;
  }

  batchCommitted(batch: BatchFacts): void {
    const nowMs = this.now();
    this.#committedAtMs = nowMs;
    if (batch.recordTimeMs !== undefined) this.#recordTimeMs = batch.recordTimeMs;
    let updates = 0;
    for (const [kind, count] of batch.updates) {
      add(this.#updates, kind, count);
      if (kind !== 'offset_checkpoint') updates += count;
    }
    let events = 0;
    for (const [type, byTemplate] of batch.events) {
      for (const count of byTemplate.values()) {
        add(this.#events, type, count);
        events += count;
      }
    }
    this.#updateRate.add(nowMs, updates);
    this.#eventRate.add(nowMs, events);
    if (batch.checkpoint !== undefined) this.#moveCheckpoint(batch.checkpoint);
  }

  seedProgress(seed: SeedFacts, done: boolean): void {
    const before = this.#seed?.contracts ?? 0;
    // A seed that starts over counts from zero again.
    this.#seedRate.add(this.now(), seed.contracts >= before ? seed.contracts - before : seed.contracts);
    this.#seed = { contracts: seed.contracts, offset: seed.offset, done };
    if (done) this.#moveCheckpoint(seed.offset);
  }

  ledgerPolled(ledgerEnd: number): void {
    this.#ledgerEnd = ledgerEnd;
    if (this.#distance() === 0) this.#waitingSinceMs = undefined;
    else this.#waitingSinceMs ??= this.now();
  }

  failed(error: IndexerError): void {
    this.#lastError = { code: error.code, message: error.message, at: new Date(this.wallNow()).toISOString() };
  }

  verdict(): Verdict {
    return verdict(
      {
        phase: this.#phase,
        phaseSinceMs: this.#phaseSinceMs,
        checkpoint: this.#checkpoint,
        ledgerEnd: this.#ledgerEnd,
        waitingSinceMs: this.#waitingSinceMs,
        committedAtMs: this.#committedAtMs,
        caughtUp: this.#caughtUp,
        stalledAfterMs: this.#options.stalledAfterMs,
        because: this.#because,
      },
      this.now(),
    );
  }

  status(): StatusDocument {
    const { state, because } = this.verdict();
    const nowMs = this.now();
    const distance = this.#distance();
    return {
      state,
      because,
      checkpoint: this.#checkpoint ?? null,
      ledgerEnd: this.#ledgerEnd ?? null,
      offsetDistance: distance ?? null,
      lagSeconds: this.#lagSeconds(distance),
      updatesPerSecond: rounded(this.#updateRate.perSecond(nowMs)),
      eventsPerSecond: rounded(this.#eventRate.perSecond(nowMs)),
      seed: this.#seed ?? null,
      counts: { updates: Object.fromEntries(this.#updates), events: Object.fromEntries(this.#events) },
      lastError: this.#lastError,
      participantId: this.#participantId ?? null,
      schema: this.#options.schema,
      version: this.#options.version,
      startedAt: new Date(this.#startedAt).toISOString(),
    };
  }

  #moveCheckpoint(checkpoint: number): void {
    if (checkpoint === this.#checkpoint) return;
    this.#checkpoint = checkpoint;
    this.#options.onCheckpoint?.(checkpoint);
    this.#waitingSinceMs = (this.#distance() ?? 0) > 0 ? this.now() : undefined;
  }

  #distance(): number | undefined {
    if (this.#checkpoint === undefined || this.#ledgerEnd === undefined) return undefined;
    return Math.max(0, this.#ledgerEnd - this.#checkpoint);
  }

  #lagSeconds(distance: number | undefined): number | null {
    if (distance === 0) return 0;
    return this.#recordTimeMs === undefined ? null : rounded(Math.max(0, this.wallNow() - this.#recordTimeMs) / 1000);
  }
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
