/** The command line of `verify`. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import { parse, type Given } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';

/** What to compare, and where the report goes. */
export interface VerifyArguments {
  readonly sql: boolean;
  /** So many of the newest updates; undefined: none. */
  readonly tail: number | undefined;
  readonly acs: boolean;
  /** Offset of the active contracts; undefined: the checkpoint. */
  readonly at: number | undefined;
  /** First and last offset of updates to ask for again. */
  readonly replay: readonly [number, number] | undefined;
  /** JSON to this file; `-`, or undefined where there is no terminal: to standard output. */
  readonly json: string | undefined;
  /** For the configuration. */
  readonly rest: readonly string[];
}

const usage = 'ledger-indexer verify [--sql] [--tail N] [--acs [--at OFFSET]] [--replay FIRST LAST] [--json [FILE]]';
/** Updates that `verify` without a choice compares. */
const usualTail = 1_000;

/** @throws IndexerError USAGE */
export function verifyArguments(argv: readonly string[]): VerifyArguments {
  const given = parse(commandNamed('verify'), argv);
  const [sql, acs] = [given.has('sql'), given.has('acs')];
  const [tail] = offsets(given, 'tail');
  const [at] = offsets(given, 'at');
  const [first, last] = offsets(given, 'replay');
  if (at !== undefined && !acs) throw wrong('--at belongs to --acs');
  const json = given.has('json') ? (given.text('json') ?? '-') : undefined;
  const replay: readonly [number, number] | undefined =
    first === undefined || last === undefined ? undefined : [first, last];
  const chosen = sql || acs || tail !== undefined || replay !== undefined;
  const others = { at, replay, json, rest: given.options };
  return chosen ? { sql, acs, tail, ...others } : { sql: true, acs: true, tail: usualTail, ...others };
}

/** Whole numbers from 0 on after a flag; none without it. */
function offsets(given: Given, flag: string): readonly number[] {
  const words = given.texts(flag);
  return words.map((word) => {
    const number = /^\d{1,16}$/.test(word) ? Number(word) : Number.NaN;
    if (Number.isSafeInteger(number)) return number;
    throw wrong(`--${flag} takes ${words.length === 1 ? 'a whole number' : `${String(words.length)} offsets`}`);
  });
}

function wrong(found: string): IndexerError {
  return misuse(found, usage);
}
