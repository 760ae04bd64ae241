/**
 * Takes the command line of a verb apart: its own flags, its operands, and what is left for the configuration. All
 * problems are reported at once.
 */
import { didYouMean } from '../../config/option-flags.ts';
import { optionList } from '../../config/option-table.ts';
import { usageError, type Verb, type VerbArguments, type VerbFlag } from './verb.ts';

/** Flags of every verb. */
export const commonFlags: readonly VerbFlag[] = [
  { name: 'json', doc: 'JSON, on a terminal too: an object, or one line for each row' },
  { name: 'table', doc: 'an aligned table, in a file or pipe too' },
  { name: 'help', doc: 'this text' },
];

interface Found {
  readonly given: Map<string, string>;
  readonly operands: string[];
  readonly rest: string[];
  readonly problems: string[];
}

/** @throws IndexerError USAGE with one line for each problem */
export function verbArguments(verb: Verb, argv: readonly string[]): VerbArguments {
  const flags = new Map([...verb.flags, ...commonFlags].map((flag) => [flag.name, flag]));
  const found: Found = { given: new Map(), operands: [], rest: [], problems: [] };
  for (let index = 0; index < argv.length; index += 1) {
    if (takeWord(flags, argv[index] ?? '', argv[index + 1], found)) index += 1;
  }
  refuse(verb, found);
  const valueOf = (name: string): unknown => {
    const text = found.given.get(name);
    const parsed = text === undefined ? undefined : flags.get(name)?.type?.parse(text);
    return parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
  };
  return {
    operands: found.operands,
    rest: found.rest,
    has: (name) => found.given.has(name),
    text: (name) => found.given.get(name),
    number: (name) => valueOf(name) as number | undefined,
    list: (name) => valueOf(name) as readonly string[] | undefined,
  };
}

/** Sorts one word into its place; true when it takes the next one with it. */
function takeWord(flags: ReadonlyMap<string, VerbFlag>, word: string, next: string | undefined, found: Found): boolean {
  const match = /^--([^=]+)(?:=(.*))?$/s.exec(word);
  const name = match?.[1];
  if (name === undefined) {
    if (/^-./.test(word)) found.problems.push(`${word}: expected a flag with two dashes, or a value`);
    else found.operands.push(word);
    return false;
  }
  const inline = match?.[2];
  const follows = inline === undefined && next !== undefined && !next.startsWith('--');
  const flag = flags.get(name);
  if (flag === undefined) return takeOption(flags, word, name, follows ? next : undefined, found);
  if (flag.value === undefined) {
    if (inline !== undefined) found.problems.push(`--${name}: expected no value`);
    found.given.set(name, '');
    return false;
  }
  const text = inline ?? (follows ? next : undefined);
  if (text === undefined || text === '') found.problems.push(`--${name}: expected ${flag.value} after it`);
  else takeValue(flag, text, found);
  return follows;
}

function takeValue(flag: VerbFlag, text: string, { given, problems }: Found): void {
  const earlier = flag.type?.label === 'list' ? given.get(flag.name) : undefined;
  given.set(flag.name, earlier === undefined ? text : `${earlier},${text}`);
  const parsed = flag.type?.parse(text);
  if (parsed !== undefined && 'expected' in parsed) {
    problems.push(`--${flag.name}: expected ${parsed.expected}, got "${text.slice(0, 200)}"`);
  }
}

const options = new Map(optionList.map((option) => [option.name, option]));

/** A flag of the configuration is passed on with its value. */
function takeOption(
  flags: ReadonlyMap<string, VerbFlag>,
  word: string,
  name: string,
  next: string | undefined,
  { rest, problems }: Found,
): boolean {
  const option = options.get(name);
  const negated = name.startsWith('no-') && options.has(name.slice(3));
  if (option === undefined && !negated) {
    const known = [...flags.keys(), ...options.keys()].map((known) => `--${known}`);
    problems.push(`--${name}: no such flag${didYouMean(`--${name}`, known)}`);
    return next !== undefined;
  }
  rest.push(word);
  if (option === undefined || option.type === 'boolean' || next === undefined) return false;
  rest.push(next);
  return true;
}

function refuse(verb: Verb, { given, operands, problems }: Found): void {
  const required = verb.operands.filter((operand) => !operand.startsWith('['));
  for (const missing of required.slice(operands.length)) problems.push(`expected ${missing}, got nothing`);
  for (const extra of operands.slice(verb.operands.length)) problems.push(`"${extra}": expected no such argument`);
  if (given.has('json') && given.has('table')) problems.push('--table: expected nothing beside --json');
  if (problems.length === 0 || given.has('help')) return;
  const lines = problems.map((problem) => `  ${problem}`);
  throw usageError([`ledger ${verb.name}:`, ...lines].join('\n'), `see \`ledger-indexer ledger ${verb.name} --help\``);
}
