/** What one verb of `ledger-indexer ledger` is: how it is called, what it needs, what it does; and its command line. */
import type { LedgerAccess } from '../../ledger/open-access.ts';
import type { Config } from '../../config/config.ts';
import type { OptionFlags } from '../../config/option-sources.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { Output } from '../command-line/output.ts';
import { type CommandFlag, type Operand, parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';

export interface VerbArguments {
  readonly operands: readonly string[];
  /** For `loadConfig`. */
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
  /** Words that are no flags, in order; those in brackets may be left out. */
  readonly operands: readonly string[];
  readonly flags: readonly CommandFlag[];
  /** One call, without `ledger-indexer`. */
  readonly example: string;
  /** What to do about an error of this code, where the general advice (for the indexer) does not fit. */
  readonly remedies?: Readonly<Record<string, string>>;
  run(call: VerbCall): Promise<void>;
}

// The command line is taken apart as that of every command, with the types of the verb's flags.

/** Flags of every verb. */
export const commonFlags: readonly CommandFlag[] = [
  { name: 'json', doc: 'JSON, on a terminal too: an object, or one line for each row' },
  { name: 'table', doc: 'an aligned table, in a file or pipe too' },
  { name: 'help', doc: 'this text' },
];

/** @throws IndexerError USAGE with one line for each problem */
export function verbArguments(verb: Verb, argv: readonly string[]): VerbArguments {
  const flags = new Map([...verb.flags, ...commonFlags].map((flag) => [flag.name, flag]));
  const given = parse(
    { name: `ledger ${verb.name}`, operands: verb.operands.map(operandOf), flags: listed(flags) },
    argv,
  );
  if (given.has('json') && given.has('table')) {
    const remedy = `see \`ledger-indexer ledger ${verb.name} --help\``;
    throw misuse(`ledger ${verb.name}: --table: expected nothing beside --json`, remedy);
  }
  const textOf = (name: string): string | undefined => (given.has(name) ? given.texts(name).join(',') : undefined);
  const valueOf = (name: string): unknown => {
    const text = textOf(name);
    const parsed = text === undefined ? undefined : flags.get(name)?.type?.parse(text);
    return parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
  };
  return {
    operands: given.operands,
    options: given.options,
    has: (name) => given.has(name),
    text: textOf,
    number: (name) => valueOf(name) as number | undefined,
    list: (name) => valueOf(name) as readonly string[] | undefined,
  };
}

/** Words in brackets may be left out. */
function operandOf(name: string): Operand {
  return name.startsWith('[') ? { name, optional: true } : { name };
}

function listed(flags: ReadonlyMap<string, CommandFlag>): readonly CommandFlag[] {
  return [...flags.values()].map((flag) => (flag.type?.label === 'list' ? { ...flag, list: true } : flag));
}
