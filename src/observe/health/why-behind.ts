/**
 * Why the stream is behind the ledger, or that it is not, in one sentence for people. What holds it up is one of three:
 * the source (the ledger and the way to it), decoding in this process, or the database.
 */
import type { StretchAnswer } from '../../pipeline/ports/observer.ts';
import type { HealthState } from './health.ts';
import type { ByPart } from '../figures/work-clock.ts';

/** `none`: it is not behind, or nothing can be said yet. */
export type Cause = 'none' | 'source' | 'decode' | 'database' | 'operator';

export interface Why {
  readonly cause: Cause;
  readonly sentence: string;
}

export interface WhyFacts {
  readonly state: HealthState;
  /** The sentence of the verdict. */
  readonly because: string;
  /** Offsets from the checkpoint to the ledger end; undefined while one of them is unknown. */
  readonly distance: number | undefined;
  readonly work: ByPart | null;
  /** What the ledger answered when asked for what lies between the checkpoint and its end; undefined: not asked. */
  readonly stretch?: StretchAnswer | undefined;
}

/** Below this share of the time no part is called the one that holds the others up. */
const muchAtLeast = 0.2;

/** The cause and its sentence. */
export function whyBehind(facts: WhyFacts): Why {
  const { state, because, distance = 0 } = facts;
  switch (state) {
    case 'idle':
      return { cause: 'none', sentence: `Not behind: ${because}.` };
    case 'live':
      return distance === 0 ? notBehind() : slow(facts, `Behind by ${offsets(distance)}`);
    case 'catching_up':
      return slow(facts, distance === 0 ? 'Catching up' : `Behind by ${offsets(distance)}`);
    case 'seeding':
      return slow(facts, 'The active contracts are being read');
    case 'blind':
      return { cause: sideOf(because), sentence: `Whether it is behind cannot be said: ${because}.` };
    case 'stalled':
      return slow(facts, `Stalled: ${because}`);
    case 'backing_off':
      return { cause: sideOf(because), sentence: `Waiting to try again, ${because}.` };
    case 'parked':
      return { cause: 'operator', sentence: `Stopped until somebody acts. ${because}.` };
    case 'starting':
    case 'standby':
    case 'stopping':
    default:
      return { cause: 'none', sentence: `${because.charAt(0).toUpperCase()}${because.slice(1)}.` };
  }
}

function notBehind(): Why {
  return { cause: 'none', sentence: 'Not behind: every update of the ledger is stored as it arrives.' };
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
const said: Readonly<Partial<Record<StretchAnswer, string>>> = {
  owed: '. The ledger has an update there, and the stream does not bring it.',
  refused: '. Whether an update lies there the ledger does not say.',
};

function slow({ work, stretch }: WhyFacts, begin: string): Why {
  if (work === null) return { cause: 'none', sentence: `${begin}.` };
  const parts = ['source', 'decode', 'database'] as const;
  const [most = 'source'] = [...parts].sort((left, right) => work[right] - work[left]);
  const known = most === 'source' && stretch !== undefined ? said[stretch] : undefined;
  if (known !== undefined) return { cause: 'source', sentence: `${begin}${known}` };
  if (work[most] < muchAtLeast) return { cause: 'none', sentence: `${begin}.` };
  const percent = Math.round(100 * Math.min(1, work[most]));
  return { cause: most, sentence: `${begin}: ${holding[most]}. ${percent} % of the last 10 s ${spent[most]}.` };
}

/** Codes begin with the side they come from; the verdict names the code before its message. */
function sideOf(because: string): Cause {
  if (/\bSTORE_[A-Z]/.test(because)) return 'database';
  return /\b(?:LEDGER|TOKEN|OAUTH)_[A-Z]/.test(because) ? 'source' : 'none';
}
