/**
 * The type of a verb of `ledger-indexer ledger` (arguments, help texts and implementation), and the parser of its
 * command line.
 */
import type { LedgerAccess } from '../../ledger/open-access.ts';
import type { Config } from '../../config/config.ts';
import type { OptionFlags } from '../../config/option-sources.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { Output } from '../command-line/output.ts';
import { type CommandFlag, type Operand, parse } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';

export interface VerbArguments {
  readonly operands: readonly string[];
  /** Options for `loadConfig`. */
  readonly options: OptionFlags;
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
  /** Operands in order; names in brackets are optional. */
  readonly operands: readonly string[];
  readonly flags: readonly CommandFlag[];
  /** One example call, without `ledger-indexer`. */
  readonly example: string;
  /** Remedies for error codes whose general remedy is for the indexer and does not apply to the verb. */
  readonly remedies?: Readonly<Record<string, string>>;
  run(call: VerbCall): Promise<void>;
}

// Parses the command line of a verb like that of every command, with the types of the verb's flags.

/** Flags of every verb. */
export const commonFlags: readonly CommandFlag[] = [
  { name: 'json', doc: 'print JSON, also on a terminal: one object, or one line per row' },
  { name: 'table', doc: 'print an aligned table, also to a file or pipe' },
  { name: 'help', doc: 'print this help' },
];

/** @throws IndexerError USAGE with one line per problem */
export function verbArguments(verb: Verb, argv: readonly string[]): VerbArguments {
  const flags = new Map([...verb.flags, ...commonFlags].map((flag) => [flag.name, flag]));
  const args = parse(
    { name: `ledger ${verb.name}`, operands: verb.operands.map(operandOf), flags: withListFlags(flags) },
    argv,
  );
  if (args.has('json') && args.has('table')) {
    const remedy = `run \`ledger-indexer ledger ${verb.name} --help\` to see its arguments`;
    throw usageError(`ledger ${verb.name}: --table cannot be combined with --json`, remedy);
  }
  const textOf = (name: string): string | undefined => (args.has(name) ? args.texts(name).join(',') : undefined);
  const valueOf = (name: string): unknown => {
    const text = textOf(name);
    const parsed = text === undefined ? undefined : flags.get(name)?.type?.parse(text);
    return parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
  };
  return {
    operands: args.operands,
    options: args.options,
    has: (name) => args.has(name),
    text: textOf,
    number: (name) => valueOf(name) as number | undefined,
    list: (name) => valueOf(name) as readonly string[] | undefined,
  };
}

/** Words in brackets are optional. */
function operandOf(name: string): Operand {
  return name.startsWith('[') ? { name, optional: true } : { name };
}

function withListFlags(flags: ReadonlyMap<string, CommandFlag>): readonly CommandFlag[] {
  return [...flags.values()].map((flag) => (flag.type?.label === 'list' ? { ...flag, list: true } : flag));
}
