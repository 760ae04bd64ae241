/**
 * Believable traffic for a sandbox ledger: a history made at once, or updates at a steady rate. The same seed, start
 * time and options give the same updates, ids and timestamps, as long as nothing else writes to the ledger.
 */
import { Economy } from './economy.ts';
import { LedgerFailure } from './failure.ts';
import type { Ledger } from './ledger.ts';
import { Random } from './random.ts';

export interface HistoryOptions {
  readonly seed: number;
  /** How many updates to append. */
  readonly updates: number;
  /** How many parties trade. Default 60. */
  readonly parties?: number;
  /** Time of the first update, milliseconds since 1970. Default 2026-01-05T08:00:00Z. */
  readonly startAt?: number;
  /** Mean time between updates, milliseconds. Default 1000. */
  readonly gapMs?: number;
}

export interface TrafficOptions {
  readonly seed: number;
  readonly updatesPerSecond: number;
  readonly parties?: number;
  /** Updates to append before the first live one, placed in the time before now. Default 0. */
  readonly history?: number;
}

export interface Traffic {
  /** Ends the traffic; nothing is appended afterwards. */
  stop(): void;
}

const defaultParties = 60;
const defaultStart = Date.UTC(2026, 0, 5, 8);
const tickMs = 50;

/** One update and, sometimes, offsets that nobody sees. */
function advance(ledger: Ledger, economy: Economy, random: Random, atMicros: number): void {
  if (random.chance(0.08)) ledger.skipOffsets(random.between(1, 4));
  economy.step(atMicros);
}

/** The same traffic step by step, for callers that decide when: same seed and times, same updates. */
export class Steps {
  readonly #ledger: Ledger;
  readonly #newEconomy: () => Economy;
  #economy: Economy;
  readonly #random: Random;

  constructor(ledger: Ledger, seed: number, parties: number = defaultParties) {
    this.#ledger = ledger;
    this.#newEconomy = () => new Economy(ledger, seed, parties);
    this.#economy = this.#newEconomy();
    this.#random = new Random(seed + 1);
  }

  /**
   * The economy knows its contracts by heart. When somebody else ended one, or took the ledger back, it begins again with
   * none, instead of ending the process.
   * @param at effective time, microseconds since 1970
   */
  step(at: number): void {
    try {
      advance(this.#ledger, this.#economy, this.#random, at);
    } catch (thrown) {
      if (!(thrown instanceof LedgerFailure) || thrown.body['code'] !== 'CONTRACT_NOT_FOUND') throw thrown;
      this.#economy = this.#newEconomy();
      advance(this.#ledger, this.#economy, this.#random, at);
    }
  }
}

function fill(ledger: Ledger, economy: Economy, options: HistoryOptions): void {
  const random = new Random(options.seed + 1);
  const gap = (options.gapMs ?? 1000) * 1000;
  let at = (options.startAt ?? defaultStart) * 1000;
  for (let done = 0; done < options.updates; done += 1) {
    advance(ledger, economy, random, at);
    // A pause now and then, shorter gaps in between: the mean stays `gapMs`.
    at += Math.max(1, Math.floor(random.chance(0.01) ? gap * 20 : gap * 1.6 * random.float()));
  }
}

/** Appends `updates` updates synchronously. */
export function generateHistory(ledger: Ledger, options: HistoryOptions): void {
  fill(ledger, new Economy(ledger, options.seed, options.parties ?? defaultParties), options);
}

/** Starts traffic at a mean rate, with short pauses. The timer does not keep the process alive. */
export function startTraffic(ledger: Ledger, options: TrafficOptions): Traffic {
  const economy = new Economy(ledger, options.seed, options.parties ?? defaultParties);
  const random = new Random(options.seed + 2);
  const updates = options.history ?? 0;
  const gapMs = 1000;
  if (updates > 0) {
    const startAt = Date.now() - Math.ceil(updates * gapMs * 1.1);
    fill(ledger, economy, { seed: options.seed, updates, startAt, gapMs });
  }
  let owed = 0;
  let last = performance.now();
  let pausedUntil = 0;
  const tick = (): void => {
    const now = performance.now();
    owed = Math.min(owed + ((now - last) / 1000) * options.updatesPerSecond, options.updatesPerSecond);
    last = now;
    if (random.chance(0.004)) pausedUntil = now + random.between(300, 1500);
    if (now < pausedUntil) return;
    for (; owed >= 1; owed -= 1) advance(ledger, economy, random, ledger.clock());
  };
  const timer = setInterval(tick, tickMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
