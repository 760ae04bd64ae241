/** What a command is: what it takes, what is said of it, and what it does. Each has a file that holds all of it. */
import type { Writable } from 'node:stream';
import type { ExitCode } from '../../errors/exit-code.ts';
import type { CommandFlag, Given, Operand, Syntax } from './parse.ts';

/**
 * Every file of a command is read before the first word of help is printed: it imports what is large (Postgres, the ledger,
 * the pipeline) within `run`.
 */
export interface Command extends Syntax {
  /** What follows the name in the usage line, where operands and flags in their order do not say it; see {@link usageOf}. */
  readonly usage?: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Lines of at most 120 characters. */
  readonly does: readonly string[];
  /** Two or more calls, without `ledger-indexer`. */
  readonly examples: readonly string[];
  /** Beside those that every command has. */
  readonly exits?: readonly (readonly [code: number, meaning: string])[];
  /** Starts what it needs or needs nothing; any other command works on the demo of its folder where no URL is named. */
  readonly alone?: true;
  /** Begins with a verb that has flags and a help of its own: `run` is given the words as they stand. */
  readonly verbs?: true;
  /** A page that says more, from the folder of the project. */
  readonly page?: string;
  /** Resolves to the exit code; nothing is 0. @throws IndexerError with an exit code of its own */
  run(call: Call): Promise<ExitCode | undefined | void>;
}

/** What a command is given. */
export interface Call {
  /** Its line, taken apart. */
  readonly given: Given;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted when a signal asks to stop. */
  readonly stop: AbortSignal;
  /** Text for standard output as it is. */
  readonly write: (text: string) => void;
  /** One line of standard output. */
  readonly print: Print;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** For who waits until a write is taken, or asks for the terminal. */
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  /** All there are, in the order of the help. */
  readonly commands: readonly Command[];
}

export type Print = (line: string) => void;

/** A stream that may be a terminal. */
export type Terminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export const yes: CommandFlag = { name: 'yes', doc: 'do it; without it the command shows what it would do' };
export const json: CommandFlag = { name: 'json', doc: 'JSON instead of text' };
export const dryRun: CommandFlag = { name: 'dry-run', doc: 'print the SQL instead of running it' };

/** Exit codes of commands that write to the database. */
export const writing: readonly (readonly [number, string])[] = [
  [69, 'the database cannot be reached'],
  [75, 'an indexer is at work on the schema, or a passing trouble'],
  [77, 'the role lacks a right'],
];

/** A flag as it is typed: `--before OFFSET`. */
export function flagCall({ name, value }: CommandFlag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** What follows the name of a command in its usage line. */
export function usageOf({ usage, operands, flags }: Pick<Command, 'usage' | 'operands' | 'flags'>): string {
  const words = [...operands.map(operandCall), ...flags.map((flag) => `[${flagCall(flag)}]${flag.list ? '…' : ''}`)];
  return usage ?? words.join(' ');
}

function operandCall({ name, words, optional, repeated }: Operand): string {
  const word = `${words?.join('|') ?? name}${repeated ? '…' : ''}`;
  return optional ? `[${word}]` : word;
}
