/** What is said of a command: the one source of its help, of completion and of the table in docs/commands.md. Pure data. */

import type { OptionType } from '../../config/option-types.ts';

export interface CommandFlag {
  /** Without its dashes. */
  readonly name: string;
  /** The words that stand for its values, undefined for a switch. In brackets it may be left out. */
  readonly value?: string;
  /** It may be given more than once. */
  readonly list?: true;
  /** What its value has to be, where more is asked of it than not to be empty. */
  readonly type?: OptionType<unknown>;
  readonly doc: string;
}

/** A word that is no flag. */
export interface Operand {
  /** As the usage line names it. */
  readonly name: string;
  /** The words that it can be, where those are known. */
  readonly words?: readonly string[];
  /** It may be left out, and all after it. */
  readonly optional?: true;
  /** There may be more of it; the last one only. */
  readonly repeated?: true;
}

export interface CommandInfo {
  readonly name: string;
  /** What follows the name in the usage line, its own flags included. */
  readonly usage: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Lines of at most 100 characters. */
  readonly does: readonly string[];
  readonly operands: readonly Operand[];
  /** Its own flags; options of the configuration are not listed. */
  readonly flags: readonly CommandFlag[];
  /** Two or more calls, without `ledger-indexer`. */
  readonly examples: readonly string[];
  /** Beside those that every command has. */
  readonly exits?: readonly (readonly [code: number, meaning: string])[];
  /** False where no option of the configuration is taken. */
  readonly options?: false;
  /** Starts what it needs or needs nothing; any other command works on the demo of its folder where no URL is named. */
  readonly alone?: true;
  /** A page that says more, from the folder of the project. */
  readonly page?: string;
}

export const yes: CommandFlag = { name: 'yes', doc: 'do it; without it the command shows what it would do' };
export const json: CommandFlag = { name: 'json', doc: 'JSON instead of text' };
export const dryRun: CommandFlag = { name: 'dry-run', doc: 'print the SQL instead of running it' };

/** Of commands that write to the database. */
export const writing: readonly (readonly [number, string])[] = [
  [69, 'the database cannot be reached'],
  [75, 'an indexer is at work on the schema, or a passing trouble'],
  [77, 'the role lacks a right'],
];
