/** What one verb of `ledger-indexer ledger` is: how it is called, what it needs, what it does. */
import type { LedgerAccess } from '../../access.ts';
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { Output } from '../command-line/output.ts';
import type { CommandFlag } from '../command-line/parse.ts';

export interface VerbArguments {
  readonly operands: readonly string[];
  /** The arguments for `loadConfig`. */
  readonly rest: readonly string[];
  has(flag: string): boolean;
  text(flag: string): string | undefined;
  /** The value of a flag with a number type. */
  number(flag: string): number | undefined;
  /** The value of a flag with a list type. */
  list(flag: string): readonly string[] | undefined;
}

export interface VerbCall {
  readonly args: VerbArguments;
  readonly config: Config;
  readonly url: string;
  readonly access: LedgerAccess;
  readonly client: LedgerClient;
  readonly output: Output;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** Aborted by SIGINT and SIGTERM. */
  readonly stop: AbortSignal;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Words that are no flags, in order; those in brackets may be left out. */
  readonly operands: readonly string[];
  readonly flags: readonly CommandFlag[];
  /** One call, without `ledger-indexer`. */
  readonly example: string;
  /** What to do about an error of this code, where the general advice (for the indexer) does not fit. */
  readonly remedies?: Readonly<Record<string, string>>;
  run(call: VerbCall): Promise<void>;
}

/** The command line is wrong. */
export function usageError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'USAGE', remedy });
}
