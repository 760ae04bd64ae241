/**
 * Why the stream is behind the ledger, in one sentence for display. There are three possible bottlenecks: the source
 * (the ledger and the path to it), decoding in this process, or the database.
 */
import type { ProbeAnswer } from '../../pipeline/ports/observer.ts';
import type { HealthState } from './health.ts';
import type { ByWorkPart } from '../figures/work-clock.ts';

/** `none`: the stream is not behind, or the cause is not known yet. */
export type DelayCause = 'none' | 'source' | 'decode' | 'database' | 'operator';

export interface Delay {
  readonly cause: DelayCause;
  readonly message: string;
}

export interface DelayFacts {
  readonly state: HealthState;
  /** The sentence from the verdict. */
  readonly reason: string;
  /** Number of offsets from the checkpoint to the ledger end; undefined if one of them is unknown. */
  readonly distance: number | undefined;
  readonly timeShares: ByWorkPart | null;
  /** Result of probing the offsets between the checkpoint and the ledger end; undefined if they were not probed. */
  readonly probeAnswer?: ProbeAnswer | undefined;
}

/** If an activity takes less than this share of the time, it does not count as the bottleneck. */
const notableShare = 0.2;

/** Returns the cause and its sentence. */
export function delayOf(facts: DelayFacts): Delay {
  const { state, reason, distance: offsetLag = 0 } = facts;
  switch (state) {
    case 'idle':
      return { cause: 'none', message: `Not behind: ${reason}.` };
    case 'live':
      return offsetLag === 0 ? noDelay() : explainSlowness(facts, `Behind by ${offsets(offsetLag)}`);
    case 'catching_up':
      return explainSlowness(facts, offsetLag === 0 ? 'Catching up' : `Behind by ${offsets(offsetLag)}`);
    case 'seeding':
      return explainSlowness(facts, 'The active contracts are being read');
    case 'ledger_timeout':
      return { cause: sideOf(reason), message: `It is not known whether the stream is behind: ${reason}.` };
    case 'stalled':
      return explainSlowness(facts, `Stalled: ${reason}`);
    case 'backing_off':
      return { cause: sideOf(reason), message: `Waiting to try again, ${reason}.` };
    case 'parked':
      return { cause: 'operator', message: `Stopped until an operator acts. ${reason}.` };
    case 'starting':
    case 'standby':
    case 'stopping':
    default:
      return { cause: 'none', message: `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.` };
  }
}

function noDelay(): Delay {
  return { cause: 'none', message: 'Not behind: every update of the ledger is stored as it arrives.' };
}

// This is created only once, because `toLocaleString` would load the locale for every number, and /status is polled
// often.
const integerFormat = new Intl.NumberFormat('en');

function offsets(offsetCount: number): string {
  return offsetCount === 1 ? '1 offset' : `${integerFormat.format(offsetCount)} offsets`;
}

const holding = {
  source: 'the source is the bottleneck',
  decode: 'decoding is the bottleneck',
  database: 'the database is the bottleneck',
} as const;

const activityTexts = {
  source: 'were spent waiting for the ledger',
  decode: 'were spent decoding',
  database: 'were spent waiting for commits',
} as const;

/** The sentence for each result of probing missing offsets. */
const probeMessages: Readonly<Partial<Record<ProbeAnswer, string>>> = {
  undelivered: '. The ledger has an update there, but the stream does not deliver it.',
  refused: '. The ledger does not report whether an update exists there.',
};

function explainSlowness({ timeShares, probeAnswer }: DelayFacts, intro: string): Delay {
  if (timeShares === null) return { cause: 'none', message: `${intro}.` };
  const parts = ['source', 'decode', 'database'] as const;
  const [slowestPart = 'source'] = [...parts].sort(
    (leftPart, rightPart) => timeShares[rightPart] - timeShares[leftPart],
  );
  const probeMessage = slowestPart === 'source' && probeAnswer !== undefined ? probeMessages[probeAnswer] : undefined;
  if (probeMessage !== undefined) return { cause: 'source', message: `${intro}${probeMessage}` };
  if (timeShares[slowestPart] < notableShare) return { cause: 'none', message: `${intro}.` };
  const percent = Math.round(100 * Math.min(1, timeShares[slowestPart]));
  return {
    cause: slowestPart,
    message: `${intro}: ${holding[slowestPart]}. ${percent} % of the last 10 s ${activityTexts[slowestPart]}.`,
  };
}

/**
 * Finds the side on which the error occurred. The reason of a verdict begins with the error code, and the code begins
 * with the side.
 */
function sideOf(reason: string): DelayCause {
  if (/\bSTORE_[A-Z]/.test(reason)) return 'database';
  return /\b(?:LEDGER|TOKEN|OAUTH)_[A-Z]/.test(reason) ? 'source' : 'none';
}
