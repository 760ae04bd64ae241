/**
 * Realistic traffic for a sandbox ledger: a history that is generated at once, or updates at a steady rate. The same
 * seed, start time and options result in the same updates, ids and timestamps, if no other client writes to the ledger.
 */
import { TrafficPlay } from './play.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Random } from '../wire/random.ts';

export interface HistoryOptions {
  readonly seed: number;
  /** Number of updates to append. */
  readonly updates: number;
  /** Number of users that trade. Default 50. */
  readonly users?: number;
  /** Time of the first update, milliseconds since 1970. Default 2026-01-05T08:00:00Z. */
  readonly startAt?: number;
  /** Mean time between updates, milliseconds. Default 1000. */
  readonly gapMs?: number;
}

export interface TrafficOptions {
  readonly seed: number;
  readonly updatesPerSecond: number;
  readonly users?: number;
  /** Number of updates to append before the first live one, with times before now. Default 0. */
  readonly history?: number;
}

export interface Traffic {
  /** Ends the traffic; nothing is appended afterwards. */
  stop(): void;
}

const defaultUsers = 50;
const defaultStart = Date.UTC(2026, 0, 5, 8);
const tickMs = 50;

/**
 * The same traffic step by step, for callers that control the time. The same seed and times result in the same updates.
 */
export class Steps {
  readonly #play: TrafficPlay;

  constructor(ledger: Ledger, seed: number, users: number = defaultUsers) {
    this.#play = new TrafficPlay(ledger, { seed, users });
  }

  /** Appends one update. @param at effective time, microseconds since 1970 */
  step(at: number): void {
    this.#play.step(at);
  }
}

function fillHistory(play: TrafficPlay, options: HistoryOptions): void {
  const random = new Random(options.seed + 1);
  const gap = (options.gapMs ?? 1000) * 1000;
  let at = (options.startAt ?? defaultStart) * 1000;
  for (let stepCount = 0; stepCount < options.updates; stepCount += 1) {
    play.step(at);
    // An occasional pause, and otherwise shorter gaps, so that the mean is `gapMs`.
    at += Math.max(1, Math.floor(random.chance(0.01) ? gap * 20 : gap * 1.6 * random.float()));
  }
}

/** Appends `updates` updates synchronously. */
export function generateHistory(ledger: Ledger, options: HistoryOptions): void {
  fillHistory(new TrafficPlay(ledger, { seed: options.seed, users: options.users ?? defaultUsers }), options);
}

/** Starts traffic at a mean rate, with short pauses. The timer does not keep the process alive. */
export function startTraffic(ledger: Ledger, options: TrafficOptions): Traffic {
  const play = new TrafficPlay(ledger, { seed: options.seed, users: options.users ?? defaultUsers });
  const random = new Random(options.seed + 2);
  const updates = options.history ?? 0;
  const gapMs = 1000;
  if (updates > 0) {
    const startAt = Date.now() - Math.ceil(updates * gapMs * 1.1);
    fillHistory(play, { seed: options.seed, updates, startAt, gapMs });
  }
  let dueUpdates = 0;
  let last = performance.now();
  let pausedUntil = 0;
  const tick = (): void => {
    const now = performance.now();
    dueUpdates = Math.min(dueUpdates + ((now - last) / 1000) * options.updatesPerSecond, options.updatesPerSecond);
    last = now;
    if (random.chance(0.004)) pausedUntil = now + random.between(300, 1500);
    if (now < pausedUntil) return;
    for (; dueUpdates >= 1; dueUpdates -= 1) play.stepRecordedAt(ledger.clock());
  };
  const timer = setInterval(tick, tickMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
