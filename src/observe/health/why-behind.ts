/**
 * Why the stream is behind the ledger, in one sentence for display. There are three possible bottlenecks: the source
 * (the ledger and the path to it), decoding in this process, or the database.
 */
import type { ProbeAnswer } from '../../pipeline/ports/observer.ts';
import type { HealthState } from './health.ts';
import type { ByPart } from '../figures/work-clock.ts';

/** `none`: the stream is not behind, or the cause is not known yet. */
export type Cause = 'none' | 'source' | 'decode' | 'database' | 'operator';

export interface Delay {
  readonly cause: Cause;
  readonly message: string;
}

export interface DelayFacts {
  readonly state: HealthState;
  /** The sentence from the verdict. */
  readonly reason: string;
  /** Number of offsets from the checkpoint to the ledger end; undefined if one of them is unknown. */
  readonly distance: number | undefined;
  readonly timeShares: ByPart | null;
  /** Result of probing the offsets between the checkpoint and the ledger end; undefined if they were not probed. */
  readonly probeAnswer?: ProbeAnswer | undefined;
}

/** If an activity takes less than this share of the time, it does not count as the bottleneck. */
const muchAtLeast = 0.2;

/** Returns the cause and its sentence. */
export function delayOf(facts: DelayFacts): Delay {
  const { state, reason, distance = 0 } = facts;
  switch (state) {
    case 'idle':
      return { cause: 'none', message: `Not behind: ${reason}.` };
    case 'live':
      return distance === 0 ? notBehind() : slow(facts, `Behind by ${offsets(distance)}`);
    case 'catching_up':
      return slow(facts, distance === 0 ? 'Catching up' : `Behind by ${offsets(distance)}`);
    case 'seeding':
      return slow(facts, 'The active contracts are being read');
    case 'ledger_timeout':
      return { cause: sideOf(reason), message: `It is not known whether the stream is behind: ${reason}.` };
    case 'stalled':
      return slow(facts, `Stalled: ${reason}`);
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

function notBehind(): Delay {
  return { cause: 'none', message: 'Not behind: every update of the ledger is stored as it arrives.' };
}

// This is created only once, because `toLocaleString` would load the locale for every number, and /status is polled
// often.
const grouped = new Intl.NumberFormat('en');

function offsets(distance: number): string {
  return distance === 1 ? '1 offset' : `${grouped.format(distance)} offsets`;
}

const holding = {
  source: 'the source is the bottleneck',
  decode: 'decoding is the bottleneck',
  database: 'the database is the bottleneck',
} as const;

const spent = {
  source: 'were spent waiting for the ledger',
  decode: 'were spent decoding',
  database: 'were spent waiting for commits',
} as const;

/** The sentence for each result of probing missing offsets. */
const probeMessages: Readonly<Partial<Record<ProbeAnswer, string>>> = {
  undelivered: '. The ledger has an update there, but the stream does not deliver it.',
  refused: '. The ledger does not report whether an update exists there.',
};

function slow({ timeShares, probeAnswer }: DelayFacts, begin: string): Delay {
  if (timeShares === null) return { cause: 'none', message: `${begin}.` };
  const parts = ['source', 'decode', 'database'] as const;
  const [most = 'source'] = [...parts].sort((left, right) => timeShares[right] - timeShares[left]);
  const known = most === 'source' && probeAnswer !== undefined ? probeMessages[probeAnswer] : undefined;
  if (known !== undefined) return { cause: 'source', message: `${begin}${known}` };
  if (timeShares[most] < muchAtLeast) return { cause: 'none', message: `${begin}.` };
  const percent = Math.round(100 * Math.min(1, timeShares[most]));
  return { cause: most, message: `${begin}: ${holding[most]}. ${percent} % of the last 10 s ${spent[most]}.` };
}

/**
 * Finds the side on which the error occurred. The reason of a verdict begins with the error code, and the code begins
 * with the side.
 */
function sideOf(reason: string): Cause {
  if (/\bSTORE_[A-Z]/.test(reason)) return 'database';
  return /\b(?:LEDGER|TOKEN|OAUTH)_[A-Z]/.test(reason) ? 'source' : 'none';
}
