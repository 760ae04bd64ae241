/** The command line of a verb: taken apart as that of every command, with the types of its flags. */
import { parse, type CommandFlag, type Operand } from '../command-line/parse.ts';
import { usageError, type Verb, type VerbArguments } from './verb.ts';

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
    throw usageError(`ledger ${verb.name}: --table: expected nothing beside --json`, remedy);
  }
  const textOf = (name: string): string | undefined => (given.has(name) ? given.texts(name).join(',') : undefined);
  const valueOf = (name: string): unknown => {
    const text = textOf(name);
    const parsed = text === undefined ? undefined : flags.get(name)?.type?.parse(text);
    return parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
  };
  return {
    operands: given.operands,
    rest: given.options,
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
