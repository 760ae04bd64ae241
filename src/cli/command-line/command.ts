/** The type of a command: syntax, help texts and implementation. Each command has one file. */
import type { Writable } from 'node:stream';
import type { ExitCode } from '../../errors/exit-code.ts';
import type { CommandFlag, Args, Operand, Syntax } from './parse.ts';

/**
 * A command. All command files are loaded before any help is printed, so each command imports large modules (Postgres,
 * the ledger, the pipeline) within `run`.
 */
export interface Command extends Syntax {
  /** Usage line after the name. Set only if it cannot be derived from the operands and flags. See {@link usageOf}. */
  readonly usage?: string;
  /** Summary in one line, without a full stop. */
  readonly summary: string;
  /** Description in lines of at most 120 characters. */
  readonly does: readonly string[];
  /** At least two example calls, without `ledger-indexer`. */
  readonly examples: readonly string[];
  /** Exit codes in addition to those of every command. */
  readonly exits?: readonly (readonly [code: number, meaning: string])[];
  /**
   * Set for commands that start everything they need, or that need nothing. If no URL is set, all other commands use
   * the demo of the current folder.
   */
  readonly alone?: true;
  /**
   * Set if the first word is a verb with its own flags and help. In that case, all words are passed to `run` unparsed.
   */
  readonly verbs?: true;
  /** Page with details, as a path relative to the root of the project. */
  readonly page?: string;
  /** Resolves to the exit code; undefined means 0. @throws IndexerError with its own exit code */
  run(call: Call): Promise<ExitCode | undefined | void>;
}

/** The arguments and streams of a call. */
export interface Call {
  /** The parsed command line. */
  readonly args: Args;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted when a signal requests a stop. */
  readonly stop: AbortSignal;
  /** Writes text to standard output unchanged. */
  readonly write: (text: string) => void;
  /** Writes one line to standard output. */
  readonly print: PrintLine;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** Used by commands that wait until a write is accepted, or that need the width of the terminal. */
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  /** All commands, in the order in which the help lists them. */
  readonly commands: readonly Command[];
}

export type PrintLine = (line: string) => void;

/** An output stream that may be a terminal. */
export type Terminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export const yesFlag: CommandFlag = {
  name: 'yes',
  doc: 'make the change; without it, the command only prints a preview',
};
export const json: CommandFlag = { name: 'json', doc: 'print JSON instead of text' };
export const dryRun: CommandFlag = { name: 'dry-run', doc: 'print the SQL instead of running it' };

/** Exit codes of commands that write to the database. */
export const writeExitCodes: readonly (readonly [number, string])[] = [
  [69, 'the database cannot be reached'],
  [75, 'an indexer writes to the schema, or a temporary failure'],
  [77, 'the role lacks a right'],
];

/** A flag with its value: `--before OFFSET`. */
export function flagCall({ name, value }: CommandFlag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** The usage line of a command, after its name. */
export function usageOf({ usage, operands, flags }: Pick<Command, 'usage' | 'operands' | 'flags'>): string {
  const usageWords = [
    ...operands.map(operandCall),
    ...flags.map((flag) => `[${flagCall(flag)}]${flag.list ? '…' : ''}`),
  ];
  return usage ?? usageWords.join(' ');
}

function operandCall({ name, words: choices, optional, repeated }: Operand): string {
  const placeholder = `${choices?.join('|') ?? name}${repeated ? '…' : ''}`;
  return optional ? `[${placeholder}]` : placeholder;
}
