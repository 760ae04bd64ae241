/**
 * Why the stream is behind the ledger, or that it is not, in one sentence for people. What holds it up is one of three:
 * the source (the ledger and the way to it), decoding in this process, or the database.
 */
import type { ProbeAnswer } from '../../pipeline/ports/observer.ts';
import type { HealthState } from './health.ts';
import type { ByPart } from '../figures/work-clock.ts';

/** `none`: it is not behind, or nothing can be said yet. */
export type Cause = 'none' | 'source' | 'decode' | 'database' | 'operator';

export interface Delay {
  readonly cause: Cause;
  readonly message: string;
}

export interface DelayFacts {
  readonly state: HealthState;
  /** The sentence of the verdict. */
  readonly reason: string;
  /** Offsets from the checkpoint to the ledger end; undefined while one of them is unknown. */
  readonly distance: number | undefined;
  readonly timeShares: ByPart | null;
  /** What the ledger answered when asked for what lies between the checkpoint and its end; undefined: not asked. */
  readonly stretch?: ProbeAnswer | undefined;
}

/** Below this share of the time no part is called the one that holds the others up. */
const muchAtLeast = 0.2;

/** The cause and its sentence. */
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
      return { cause: sideOf(reason), message: `Whether it is behind cannot be said: ${reason}.` };
    case 'stalled':
      return slow(facts, `Stalled: ${reason}`);
    case 'backing_off':
      return { cause: sideOf(reason), message: `Waiting to try again, ${reason}.` };
    case 'parked':
      return { cause: 'operator', message: `Stopped until somebody acts. ${reason}.` };
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

// Made once: `toLocaleString` reads the rules of the language again for every number, and /status is asked often.
const grouped = new Intl.NumberFormat('en');

function offsets(distance: number): string {
  return distance === 1 ? '1 offset' : `${grouped.format(distance)} offsets`;
}

const holding = {
  source: 'the source sends no faster',
  decode: 'this process decodes no faster',
  database: 'the database stores no faster',
} as const;

const spent = {
  source: 'were spent waiting for the ledger',
  decode: 'were spent decoding',
  database: 'were spent waiting for commits',
} as const;

/** What the ledger itself said of the stretch that is missing. */
const said: Readonly<Partial<Record<ProbeAnswer, string>>> = {
  undelivered: '. The ledger has an update there, and the stream does not bring it.',
  refused: '. Whether an update lies there the ledger does not say.',
};

function slow({ timeShares, stretch }: DelayFacts, begin: string): Delay {
  if (timeShares === null) return { cause: 'none', message: `${begin}.` };
  const parts = ['source', 'decode', 'database'] as const;
  const [most = 'source'] = [...parts].sort((left, right) => timeShares[right] - timeShares[left]);
  const known = most === 'source' && stretch !== undefined ? said[stretch] : undefined;
  if (known !== undefined) return { cause: 'source', message: `${begin}${known}` };
  if (timeShares[most] < muchAtLeast) return { cause: 'none', message: `${begin}.` };
  const percent = Math.round(100 * Math.min(1, timeShares[most]));
  return { cause: most, message: `${begin}: ${holding[most]}. ${percent} % of the last 10 s ${spent[most]}.` };
}

/** Codes begin with the side they come from; the verdict names the code before its message. */
function sideOf(reason: string): Cause {
  if (/\bSTORE_[A-Z]/.test(reason)) return 'database';
  return /\b(?:LEDGER|TOKEN|OAUTH)_[A-Z]/.test(reason) ? 'source' : 'none';
}
