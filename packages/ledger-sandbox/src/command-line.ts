/**
 * The command line of `ledger-sandbox`. Each option has a flag and a variable. The flag overrides the variable.
 */
import { parseArgs } from 'node:util';

interface Option<Value> {
  readonly env: string;
  /**
   * Placeholder of the value in the help. Absent for a switch, which is set by the flag, or by 1 or true in the
   * variable.
   */
  readonly value?: string;
  readonly doc: string;
  /** Parses the value. Throws an Error that names the expected value. */
  readonly read: (text: string) => Value;
  readonly fallback: Value;
}

function integerWithin(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    const isInRange = text.trim() !== '' && value >= minimum && value <= maximum && Number.isInteger(value);
    if (!isInRange) throw new Error(`expected an integer from ${String(minimum)} to ${String(maximum)}`);
    return value;
  };
}

/** Milliseconds since 1970. */
function parseTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Error('expected a time, such as 2026-01-05T08:00:00Z');
  return time;
}

const parseSwitch = (text: string): boolean => text === '1' || text === 'true';
const asText = (text: string): string | undefined => text;
const maxUint32 = 4_294_967_295;

const options = {
  port: {
    env: 'SANDBOX_PORT',
    value: 'PORT',
    doc: 'port to listen on, 0 for any free one; default 7575',
    read: integerWithin(0, 65_535),
    fallback: 7575,
  },
  host: {
    env: 'SANDBOX_HOST',
    value: 'ADDRESS',
    doc: 'address to listen on; default this machine only',
    read: asText,
    fallback: undefined,
  },
  journal: {
    env: 'SANDBOX_JOURNAL',
    value: 'FILE',
    doc: 'file that keeps the history; default in memory',
    read: asText,
    fallback: undefined,
  },
  admin: {
    env: 'SANDBOX_ADMIN',
    doc: 'allow programs on this machine to script faults',
    read: parseSwitch,
    fallback: false,
  },
  seed: {
    env: 'INDEXER_DEMO_SEED',
    value: 'N',
    doc: 'random seed of the history; default 1',
    read: integerWithin(0, maxUint32),
    fallback: 1,
  },
  'updates-per-second': {
    env: 'INDEXER_DEMO_UPDATES_PER_SECOND',
    value: 'N',
    doc: 'rate of live traffic, 0 for none; default 5',
    read: integerWithin(0, 100_000),
    fallback: 5,
  },
  speed: {
    env: 'INDEXER_DEMO_SPEED',
    value: 'N',
    doc: 'factor of the rate of live traffic; default 1',
    read: integerWithin(1, 10_000),
    fallback: 1,
  },
  'max-updates': {
    env: 'INDEXER_DEMO_MAX_UPDATES',
    value: 'N',
    doc: 'maximum number of updates; default none',
    read: integerWithin(1, 1_000_000_000),
    fallback: undefined,
  },
  'history-from': {
    env: 'SANDBOX_HISTORY_FROM',
    value: 'TIME',
    doc: 'begin of a longer history; default a month ago',
    read: parseTime,
    fallback: undefined,
  },
  'history-updates': {
    env: 'SANDBOX_HISTORY_UPDATES',
    value: 'N',
    doc: 'about how many updates it has; default 15000',
    read: integerWithin(100, 1_000_000),
    fallback: undefined,
  },
  now: {
    env: 'SANDBOX_NOW',
    value: 'TIME',
    doc: 'time at the start; default the clock of the machine',
    read: parseTime,
    fallback: undefined,
  },
  chaos: {
    env: 'INDEXER_DEMO_CHAOS',
    doc: 'drop sockets, stall and prune at intervals',
    read: parseSwitch,
    fallback: false,
  },
} satisfies Readonly<Record<string, Option<unknown>>>;

type Options = typeof options;
/** Values of the options by name; default values for those that are not set. */
export type Settings = {
  readonly [Name in keyof Options]: Options[Name]['fallback'] | ReturnType<Options[Name]['read']>;
};

/** All problems of the arguments and variables, one line each. */
export class UsageError extends Error {}

/** @throws UsageError */
export function settingsOf(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Settings {
  const flags = flagsOf(argv);
  const problems: string[] = [];
  const entries = Object.entries<Option<unknown>>(options).map(([name, { env: variable, read, fallback }]) => {
    const flag = flags[name];
    const text = flag === undefined ? env[variable] : String(flag);
    if (text === undefined || text === '') return [name, fallback];
    try {
      return [name, read(text)];
    } catch (error) {
      problems.push(`${flag === undefined ? variable : `--${name}`}: ${(error as Error).message}`);
      return [name, fallback];
    }
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return Object.fromEntries(entries) as Settings;
}

function flagsOf(argv: readonly string[]): Readonly<Record<string, string | boolean | undefined>> {
  const optionNames = Object.entries<Option<unknown>>(options).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  );
  try {
    return parseArgs({ args: [...argv], options: Object.fromEntries(optionNames), strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function help(): string {
  const lines = Object.entries<Option<unknown>>(options).map(([name, { env, value, doc }]) => {
    const flag = `  --${name}${value === undefined ? '' : ` ${value}`}`;
    return `${flag.padEnd(27)}${doc} (${env})`;
  });
  return ['usage: ledger-sandbox [--option value …]', '', ...lines, ''].join('\n');
}
