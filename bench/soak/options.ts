/** The command line of `npm run soak --`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface SoakOptions {
  readonly pieces: number;
  /** Traffic of a piece, seconds. */
  readonly seconds: number;
  /** Updates per second. */
  readonly rate: number;
  readonly clients: number;
  /** Folder that remains; default: a temporary one. */
  readonly keep: string | undefined;
  readonly resume: string | undefined;
  readonly json: string | undefined;
}

export const help = `npm run soak -- [options]

  --hours N       traffic of a piece; 2
  --minutes N     the same in minutes
  --pieces N      number of pieces, each of which continues the previous one; 3
  --rate N        updates per second; 100
  --clients N     clients of /changes; 100
  --keep DIR      new folder for database, ledger, logs and samples; default: a temporary one
  --resume DIR    continue the soak in this folder
  --json FILE     write the results as JSON

Disk: up to 5 GB at 100 updates per second, whatever the number of pieces. Ctrl-C ends the soak.
`;

const flags = {
  hours: { type: 'string' },
  minutes: { type: 'string' },
  pieces: { type: 'string' },
  rate: { type: 'string', default: '100' },
  clients: { type: 'string', default: '100' },
  keep: { type: 'string' },
  resume: { type: 'string' },
  json: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const defaultHours = 2;
const defaultPieces = 3;

/** Parses the arguments; undefined for `--help`. @throws Error that describes the invalid argument */
export function readSoakOptions(argv: readonly string[]): SoakOptions | undefined {
  const { values } = parseArgs({ args: [...argv], options: flags, strict: true });
  if (values.help) return undefined;
  const { hours, minutes, keep, resume } = values;
  if (hours !== undefined && minutes !== undefined)
    throw new Error('--minutes: expected only one of --hours and --minutes');
  if (keep !== undefined && resume !== undefined) throw new Error('--resume: expected only one of --keep and --resume');
  const seconds =
    minutes === undefined
      ? numberOf('--hours', hours ?? String(defaultHours), 0.01) * 3_600
      : numberOf('--minutes', minutes, 0.5) * 60;
  return {
    // A folder that exists is continued by one piece.
    pieces: integerOf('--pieces', values.pieces ?? String(resume === undefined ? defaultPieces : 1)),
    seconds,
    rate: integerOf('--rate', values.rate),
    clients: integerOf('--clients', values.clients),
    keep: keep === undefined ? undefined : resolve(keep),
    resume: resume === undefined ? undefined : resolve(resume),
    json: values.json,
  };
}

function numberOf(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  throw new Error(`${flag}: expected a number of at least ${String(least)}, got ${text}`);
}

function integerOf(flag: string, text: string): number {
  const value = numberOf(flag, text, 1);
  if (Number.isInteger(value)) return value;
  throw new Error(`${flag}: expected an integer, got ${text}`);
}
