/** Error to decision, as a pure function; and the wait that a stop cuts short. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { IndexerError } from '../errors.ts';

export type Decision =
  | { readonly kind: 'again'; readonly delayMs: number; readonly phase: 'backing_off' | 'parked' }
  | { readonly kind: 'give-up' };

const firstDelayMs = 100;
/** A parked stream is tested again this often: the operator's fix must not need a restart. */
const parkedDelayMs = 60_000;
/** A full disk heals by an operator's hand, not within milliseconds. */
const fullDelayMs = 30_000;
const refreshesBeforePark = 2;
/** Ends of a stream that the ledger itself says to answer with a new connection at once. */
const atOnce: ReadonlySet<string> = new Set(['LEDGER_STALE_AUTHORIZATION', 'LEDGER_TOKEN_EXPIRED']);

/**
 * @param failures failures since the last committed batch, this one included (1 = first)
 * @param random uniform in [0, 1)
 */
export function decide(error: IndexerError, failures: number, maxDelayMs: number, random: number): Decision {
  if (error.retry === 'fatal') return { kind: 'give-up' };
  const refused = error.retry === 'refresh-token' && failures > refreshesBeforePark;
  if (error.retry === 'park' || refused) return { kind: 'again', delayMs: parkedDelayMs, phase: 'parked' };
  if (atOnce.has(error.code) && failures === 1) return { kind: 'again', delayMs: 0, phase: 'backing_off' };
  if (error.code === 'STORE_FULL') return { kind: 'again', delayMs: fullDelayMs, phase: 'backing_off' };
  return backOff(failures, maxDelayMs, random);
}

/** Full jitter: many indexers cut off by one restart must not come back at the same moment. */
function backOff(failures: number, maxDelayMs: number, random: number): Decision {
  const ceiling = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures, 20));
  return { kind: 'again', delayMs: Math.round(random * ceiling), phase: 'backing_off' };
}

/** Waits; returns early, without error, when the signal is aborted. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined);
}
