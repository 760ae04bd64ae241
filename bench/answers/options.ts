/** The command line of `npm run bench:answers --`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { mostUserProjections } from './user-projections.ts';

export interface AnswersOptions {
  /** Number of updates of the history. */
  readonly updates: number;
  /** Folder of the filled database; undefined for a temporary one. */
  readonly keep: string | undefined;
  readonly json: string | undefined;
  /** Text that the label of a statement must contain to be measured; default: all statements are measured. */
  readonly only: string | undefined;
  readonly limitSeconds: number;
  readonly skipCold: boolean;
  readonly projections: 'built-in' | 'off';
  /** If not 0, the history is filled this often with projections and without, and no statements are measured. */
  readonly followRounds: number;
  /** Updates per second of these fills after the month; undefined for full speed. */
  readonly pace: number | undefined;
  /** Projections of users that are compared with none; if 0, built-in projections are compared with none. */
  readonly userProjections: number;
  /** Whether there are also projections that fail and that are slow. */
  readonly hostile: boolean;
}

export const help = `npm run bench:answers -- --updates N [options]

  --updates N          length of the history: the demo's month, and 2.5 updates per second after it
  --keep DIR           keep the filled database in DIR, and use the one that is there; default: temporary
  --json FILE          write the results as JSON
  --only TEXT          only statements whose label contains TEXT
  --limit-seconds N    statement_timeout of each statement; 60
  --projections WHICH  built-in, or off for views that compute all rows; built-in
  --follow-rounds N    compare filling with and without projections in N rounds, instead of measuring statements
  --pace N             with --follow-rounds: store N updates per second after the month, and measure their latency
                       and the lag of projections instead of the rate
  --user-projections N with --follow-rounds: compare N projections of users (1 to 5) and the built-in ones with the
                       built-in ones alone
  --hostile            with --user-projections: add a projection that fails and one that is slow
  --skip-cold          do not restart Postgres for a cold pass before the warm pass
`;

const flags = {
  updates: { type: 'string' },
  keep: { type: 'string' },
  json: { type: 'string' },
  only: { type: 'string' },
  'limit-seconds': { type: 'string', default: '60' },
  projections: { type: 'string', default: 'built-in' },
  'follow-rounds': { type: 'string', default: '0' },
  pace: { type: 'string' },
  'user-projections': { type: 'string', default: '0' },
  hostile: { type: 'boolean', default: false },
  'skip-cold': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Fewer updates are not a complete month of the demo. */
const leastUpdates = 1_000;

/** Parses the arguments; undefined for `--help`. @throws Error that describes the invalid argument */
export function readAnswersOptions(argv: readonly string[]): AnswersOptions | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags, strict: true });
  if (values.help) return undefined;
  if (values.updates === undefined) throw new Error('--updates is missing: expected the length of the history');
  const followRounds = parseInteger('--follow-rounds', values['follow-rounds'], 0);
  if (values.pace !== undefined && followRounds === 0) throw new Error('--pace needs --follow-rounds');
  const userProjections = parseInteger('--user-projections', values['user-projections'], 0);
  if (userProjections > 0 && followRounds === 0) throw new Error('--user-projections needs --follow-rounds');
  if (userProjections > mostUserProjections) {
    throw new Error(`--user-projections ${String(userProjections)}: expected at most ${String(mostUserProjections)}`);
  }
  if (values.hostile && userProjections === 0) throw new Error('--hostile needs --user-projections');
  return {
    updates: parseInteger('--updates', values.updates, leastUpdates),
    keep: values.keep === undefined ? undefined : resolve(values.keep),
    json: values.json,
    only: values.only,
    limitSeconds: parseInteger('--limit-seconds', values['limit-seconds'], 1),
    skipCold: values['skip-cold'],
    projections: parseProjections(values.projections),
    followRounds,
    userProjections,
    hostile: values.hostile,
    pace: values.pace === undefined ? undefined : parseInteger('--pace', values.pace, 1),
  };
}

function parseProjections(text: string): AnswersOptions['projections'] {
  if (text === 'built-in' || text === 'off') return text;
  throw new Error(`--projections ${text}: expected built-in or off`);
}

function parseInteger(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) {
    throw new Error(`${flag} ${text}: expected an integer of at least ${String(least)}`);
  }
  return value;
}
