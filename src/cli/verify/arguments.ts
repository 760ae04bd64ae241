/** The command line of `verify`. */
import type { IndexerError } from '../../errors.ts';
import { misuse } from '../refusals.ts';

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
  const words = new Words(argv);
  const sql = words.flag('--sql');
  const acs = words.flag('--acs');
  const [tail] = words.offsets('--tail', 1) ?? [];
  const [at] = words.offsets('--at', 1) ?? [];
  const [first, last] = words.offsets('--replay', 2) ?? [];
  const json = words.optional('--json');
  if (at !== undefined && !acs) throw wrong('--at belongs to --acs');
  const replay: readonly [number, number] | undefined =
    first === undefined || last === undefined ? undefined : [first, last];
  const chosen = sql || acs || tail !== undefined || replay !== undefined;
  const given = { at, replay, json, rest: words.rest };
  return chosen ? { sql, acs, tail, ...given } : { sql: true, acs: true, tail: usualTail, ...given };
}

class Words {
  rest: readonly string[];

  constructor(argv: readonly string[]) {
    // `--name=value` is the same as two words.
    this.rest = argv.flatMap((word) => {
      const [, name, value] = /^(--(?:tail|at|replay|json))=(.*)$/s.exec(word) ?? [];
      return name === undefined || value === undefined ? [word] : [name, value];
    });
  }

  flag(name: string): boolean {
    return this.#take(name, 0) !== undefined;
  }

  /** Whole numbers from 0 on after a flag; undefined without it. */
  offsets(name: string, count: number): readonly number[] | undefined {
    return this.#take(name, count)?.map((word) => {
      const number = /^\d{1,16}$/.test(word) ? Number(word) : Number.NaN;
      if (Number.isSafeInteger(number)) return number;
      throw wrong(`${name} takes ${count === 1 ? 'a whole number' : `${String(count)} offsets`}`);
    });
  }

  /** A flag with or without a value: `-` without. */
  optional(name: string): string | undefined {
    const next = this.rest[this.rest.indexOf(name) + 1];
    const [value] = this.#take(name, next === undefined || next.startsWith('-') ? 0 : 1) ?? [undefined];
    return value ?? (this.#taken ? '-' : undefined);
  }

  #taken = false;

  #take(name: string, values: number): readonly string[] | undefined {
    const at = this.rest.indexOf(name);
    this.#taken = at >= 0;
    if (at < 0) return undefined;
    const taken = this.rest.slice(at + 1, at + 1 + values);
    if (taken.length < values) throw wrong(`${name} lacks a value`);
    this.rest = [...this.rest.slice(0, at), ...this.rest.slice(at + 1 + values)];
    return taken;
  }
}

function wrong(found: string): IndexerError {
  return misuse(found, usage);
}
