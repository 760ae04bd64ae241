/** Counts since the start of the process, and rates of the last seconds. */
import type { BatchFacts, SeedProgressFacts } from '../../pipeline/ports/observer.ts';
import { MeanWindow, RateWindow, rounded, roundedOrNull, TemplateRates } from '../figures/rates.ts';

interface Clocks {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

export interface SeedStatus extends SeedProgressFacts {
  readonly done: boolean;
}

export class Throughput {
  readonly #clocks: Clocks;
  readonly #updates = new Map<string, number>();
  readonly #events = new Map<string, number>();
  readonly #updateRate = new RateWindow();
  readonly #eventRate = new RateWindow();
  readonly #seedRate = new RateWindow();
  readonly #commits = new MeanWindow();
  readonly #delays = new MeanWindow();
  readonly #templates = new TemplateRates();
  #seed: SeedStatus | null = null;

  constructor(clocksOption: Clocks) {
    this.#clocks = clocksOption;
  }

  batchCommitted(batch: BatchFacts): void {
    const nowMs = this.#clocks.now();
    if (batch.recordTimeMs !== undefined) {
      this.#delays.add(nowMs, Math.max(0, this.#clocks.wallNow() - batch.recordTimeMs) / 1000);
    }
    this.#commits.add(nowMs, 1000 * batch.commitSeconds);
    let updates = 0;
    for (const [kind, count] of batch.updates) {
      add(this.#updates, kind, count);
      if (kind !== 'offset_checkpoint') updates += count;
    }
    let events = 0;
    for (const [type, countsByTemplate] of batch.events) {
      for (const [template, count] of countsByTemplate) {
        add(this.#events, type, count);
        if (batch.checkpoint !== undefined) this.#templates.add(nowMs, template, count);
        events += count;
      }
    }
    this.#updateRate.add(nowMs, updates);
    // Entries of a seed have a separate rate, because they do not indicate how busy the ledger is.
    if (batch.checkpoint !== undefined) this.#eventRate.add(nowMs, events);
  }

  seedProgress(seed: SeedProgressFacts, isDone: boolean): void {
    const before = this.#seed?.contracts ?? 0;
    // If a seed restarts, its count begins at zero again.
    this.#seedRate.add(this.#clocks.now(), seed.contracts >= before ? seed.contracts - before : seed.contracts);
    this.#seed = { contracts: seed.contracts, offset: seed.offset, done: isDone };
  }

  /** Contracts per second during a seed. */
  get seedContractsPerSecond(): number {
    return this.#seedRate.perSecond(this.#clocks.now());
  }

  /** Events per second of a template, which is named as `package:Module:Entity`. */
  templateRate(template: string): number {
    return rounded(this.#templates.perSecond(this.#clocks.now(), template));
  }

  rates(): { readonly updatesPerSecond: number; readonly eventsPerSecond: number; readonly seed: SeedStatus | null } {
    const nowMs = this.#clocks.now();
    return {
      updatesPerSecond: rounded(this.#updateRate.perSecond(nowMs)),
      eventsPerSecond: rounded(this.#eventRate.perSecond(nowMs)),
      seed: this.#seed,
    };
  }

  /** Means of the batches of the last ten seconds; null if there were none. */
  batchTimes(): { readonly commitMilliseconds: number | null; readonly ingestLatencySeconds: number | null } {
    const nowMs = this.#clocks.now();
    return {
      commitMilliseconds: roundedOrNull(this.#commits.mean(nowMs), 100),
      ingestLatencySeconds: roundedOrNull(this.#delays.mean(nowMs), 1000),
    };
  }

  counts(): { readonly updates: Readonly<Record<string, number>>; readonly events: Readonly<Record<string, number>> } {
    return { updates: Object.fromEntries(this.#updates), events: Object.fromEntries(this.#events) };
  }
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
