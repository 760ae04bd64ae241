/**
 * Determines the verdict on the process, as a pure function of facts and the time. The verdict contains the current
 * state, whether clients may rely on the database being current, and whether a restart could help. `/readyz`, `/livez`
 * and `/status` all return this verdict.
 */
import type { Phase } from '../../model/stream.ts';

export type HealthState = Phase | 'idle' | 'stalled' | 'ledger_timeout';

/** Facts for the verdict. All times are milliseconds of one monotonic clock. */
export interface HealthFacts {
  readonly phase: Phase;
  readonly phaseSinceMs: number;
  readonly checkpoint: number | undefined;
  readonly ledgerEnd: number | undefined;
  /** Time at which the ledger end was last received; undefined if it never was. */
  readonly learnedAtMs: number | undefined;
  /** Time at which the newest frame arrived. */
  readonly frameAtMs: number | undefined;
  /** Code and message of the ledger-end requests that have failed since that time. */
  readonly unlearnedReason: string | undefined;
  /** Remedy for that failure. */
  readonly unlearnedRemedy?: string | undefined;
  readonly ledgerTimeoutMs: number;
  /**
   * Time since which the ledger end has been above a checkpoint that does not advance; undefined if the ledger end is
   * not above it. The time is counted from the later of the two events. Otherwise the first update after a quiet night
   * would count as a stall of the entire night.
   */
  readonly waitingSinceMs: number | undefined;
  /** Time at which the last batch was committed. */
  readonly committedAtMs: number | undefined;
  /**
   * Whether the ledger end was reached and clients could rely on the database since then. The current interruption is
   * ignored.
   */
  readonly caughtUp: boolean;
  readonly stalledAfterMs: number;
  /**
   * Code and message of the error that keeps the process in this phase. For a standby, the holder of the writer lock.
   */
  readonly reason: string | undefined;
  /** Remedy for that error. */
  readonly remedy?: string | undefined;
}

export interface Verdict {
  readonly state: HealthState;
  readonly ready: boolean;
  readonly live: boolean;
  /** One sentence for the operator. */
  readonly reason: string;
  /** Remedy for the error in the sentence; absent if the sentence contains no error. */
  readonly remedy?: string;
}

const idleAfterMs = 30_000;
/** A restart is worth trying after this multiple of `stalledAfterMs`. */
const restartAfter = 3;

/** Returns the verdict at `nowMs`. */
export function verdictOf(facts: HealthFacts, nowMs: number): Verdict {
  switch (facts.phase) {
    case 'starting':
      return notReadyVerdict('starting', 'not connected yet');
    case 'seeding':
      return notReadyVerdict('seeding', 'the active contracts are being read');
    case 'standby':
      return notReadyVerdict(
        'standby',
        `${facts.reason ?? 'another process'} holds the writer lock; this one takes over when it ends`,
      );
    case 'stopping':
      return notReadyVerdict('stopping', 'the process is ending');
    case 'parked':
      return notReadyVerdict('parked', facts.reason ?? 'an operator is needed', facts.remedy);
    case 'backing_off':
      return backingOff(facts, nowMs);
    case 'catching_up':
    case 'live':
    default:
      return followingVerdict(facts, nowMs);
  }
}

function notReadyVerdict(state: HealthState, reason: string, remedy?: string): Verdict {
  return { state, ready: false, live: true, reason, ...(remedy !== undefined && { remedy }) };
}

function backingOff(facts: HealthFacts, nowMs: number): Verdict {
  const phaseMs = nowMs - facts.phaseSinceMs;
  const cause = facts.reason ?? 'the connection was lost';
  // During a short interruption, the database is as current as it would be with a quiet ledger. A restart would not
  // help in either case.
  const isWithinLimit = phaseMs <= facts.stalledAfterMs && waitingMs(facts, nowMs) < facts.stalledAfterMs;
  const ready = facts.caughtUp && isWithinLimit && !isLedgerTimedOut(facts, nowMs);
  const reason = `for ${seconds(phaseMs)}: ${cause}`;
  return { ...notReadyVerdict('backing_off', reason, facts.remedy), ready };
}

function followingVerdict(facts: HealthFacts, nowMs: number): Verdict {
  const { checkpoint, ledgerEnd } = facts;
  const waitedMs = waitingMs(facts, nowMs);
  if (waitedMs >= facts.stalledAfterMs) {
    const reason = `the ledger end is ${ledgerEnd ?? 'unknown'}, but the checkpoint has stayed at ${checkpoint ?? 'none'} for ${seconds(waitedMs)}`;
    // Just after the reconnect that follows a long outage, the cause was the connection. A restart would only interrupt
    // the connection again.
    const reconnected = nowMs - facts.phaseSinceMs < facts.stalledAfterMs;
    const isLive = reconnected || waitedMs < restartAfter * facts.stalledAfterMs;
    return { state: 'stalled', ready: false, live: isLive, reason };
  }
  if (isLedgerTimedOut(facts, nowMs))
    return notReadyVerdict('ledger_timeout', unlearnedEndReason(facts, nowMs), facts.unlearnedRemedy);
  const isCaughtUp = checkpoint !== undefined && ledgerEnd !== undefined && checkpoint >= ledgerEnd;
  if (facts.phase === 'catching_up' && !isCaughtUp) {
    const lagText =
      checkpoint === undefined || ledgerEnd === undefined ? 'an unknown number of' : ledgerEnd - checkpoint;
    return notReadyVerdict('catching_up', `${lagText} offsets behind the ledger end`);
  }
  const quietMs = facts.committedAtMs === undefined ? undefined : nowMs - facts.committedAtMs;
  if (isCaughtUp && quietMs !== undefined && quietMs >= idleAfterMs) {
    return {
      state: 'idle',
      ready: true,
      live: true,
      reason: `the ledger is quiet; everything up to ${ledgerEnd} is stored`,
    };
  }
  return { state: 'live', ready: true, live: true, reason: 'following the ledger end' };
}

/**
 * Whether the ledger has been silent for so long that its end is not known. A ledger that sends frames is reachable and
 * lets the indexer read, even if requests for its end fail.
 */
export function isLedgerTimedOut(
  { learnedAtMs, frameAtMs = -Infinity, ledgerTimeoutMs }: HealthFacts,
  nowMs: number,
): boolean {
  return learnedAtMs !== undefined && nowMs - Math.max(learnedAtMs, frameAtMs) > ledgerTimeoutMs;
}

function unlearnedEndReason(
  { learnedAtMs = 0, unlearnedReason: failureReason, ledgerEnd }: HealthFacts,
  nowMs: number,
): string {
  const reason = failureReason === undefined ? 'no answer' : failureReason;
  return `the ledger end, last known as ${ledgerEnd ?? 'nothing'}, has not been learned for ${seconds(nowMs - learnedAtMs)}: ${reason}`;
}

function waitingMs({ waitingSinceMs }: HealthFacts, nowMs: number): number {
  return waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
