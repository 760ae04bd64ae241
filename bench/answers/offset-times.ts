/** When an offset of the database was seen first, and the delays after the ledger made it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../figures/cost.ts';
import { withClient } from '../postgres.ts';
import type { OffsetTimes } from './ledger-messages.ts';

/** Without a new offset for this long, a measurement fails. */
const silenceMs = 120_000;

export interface OffsetPolling {
  /** SQL that returns one row with the column `reached`. */
  readonly sql: string;
  readonly pauseMs: number;
  /** Offset at which the polling ends; it may be set while the polling runs. */
  readonly goal: { offset: number };
}

/** Polls an offset until it reaches the goal. */
export function pollOffsets(databaseUrl: string, { sql, pauseMs, goal }: OffsetPolling): Promise<OffsetTimes> {
  return withClient(databaseUrl, async (client) => {
    const offsets: number[] = [];
    const times: bigint[] = [];
    let reached = 0;
    let changedMs = performance.now();
    while (reached < goal.offset) {
      const { rows } = await client.query<{ reached: string | null }>({ name: 'reached', text: sql });
      const offset = Number(rows[0]?.reached ?? 0);
      if (offset > reached) {
        offsets.push(offset);
        times.push(now());
        reached = offset;
        changedMs = performance.now();
      }
      if (performance.now() - changedMs > silenceMs) throw new Error(`no offset after ${String(reached)} for 120 s`);
      await sleep(pauseMs);
    }
    return { offsets: Float64Array.from(offsets), times: BigInt64Array.from(times) };
  });
}

/**
 * Milliseconds from making an offset to seeing it or a later one, in increasing order. Offsets that were made in the
 * first `skippedMs` are not counted.
 * @param seen offsets up to the last one of `made` at least
 */
export function delaysBetween(made: OffsetTimes, seen: OffsetTimes, skippedMs: number): Float64Array {
  const delays: number[] = [];
  let at = 0;
  for (let burst = 1; burst < made.offsets.length; burst += 1) {
    const madeAt = made.times[burst] ?? 0n;
    if (milliseconds(madeAt - (made.times[0] ?? 0n)) < skippedMs) continue;
    for (let offset = (made.offsets[burst - 1] ?? 0) + 1; offset <= (made.offsets[burst] ?? 0); offset += 1) {
      while ((seen.offsets[at] ?? Number.POSITIVE_INFINITY) < offset) at += 1;
      delays.push(milliseconds((seen.times[at] ?? 0n) - madeAt));
    }
  }
  return Float64Array.from(delays).sort();
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds) / 1e6;
}
