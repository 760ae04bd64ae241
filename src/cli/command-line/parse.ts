/**
 * Parses the command line of every command: its own flags, its operands, and configuration options. Flags may appear
 * anywhere; operands keep their order. A value may begin with two dashes only after an equals sign, so `--reason
 * --json` is an error. A flag may be repeated only if it takes a list, so `--to 300 --to 5` is an error. Nothing here
 * depends on what a command does.
 */
import { parseArgs } from 'node:util';
import { emptyFlags, type OptionFlags } from '../../config/option-sources.ts';
import { optionList } from '../../config/option-table.ts';
import type { Option, OptionType } from '../../config/option.ts';
import { maskUrl } from '../../config/url-secrets.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { suggestionText } from '../../errors/nearest-names.ts';
import { usageError } from './refusals.ts';

export interface CommandFlag {
  /** The name without dashes. */
  readonly name: string;
  /** Placeholder for the value. It is undefined for a switch, and in brackets if the value is optional. */
  readonly value?: string;
  /** Set if the flag may be repeated. */
  readonly list?: true;
  /** Type of the value; without one, any non-empty text is accepted. */
  readonly type?: OptionType<unknown>;
  readonly doc: string;
}

/** A positional argument. */
export interface Operand {
  /** Name in the usage line. */
  readonly name: string;
  /** The accepted words, if they are limited. */
  readonly words?: readonly string[];
  /** Set if this operand and all operands after it are optional. */
  readonly optional?: true;
  /** Set if the operand may be repeated; only for the last operand. */
  readonly repeated?: true;
}

/** The syntax of a command or of a verb of `ledger`. */
export interface Syntax {
  /** Name without `ledger-indexer`. */
  readonly name: string;
  readonly operands: readonly Operand[];
  /** Flags of the command itself; configuration options are not listed. */
  readonly flags: readonly CommandFlag[];
  /** Set if the command accepts no configuration options. */
  readonly options?: false;
}

export interface Args {
  readonly operands: readonly string[];
  has(flag: string): boolean;
  /** The value of a flag; undefined if the flag or its optional value is missing. */
  text(flag: string): string | undefined;
  /** All values of a flag that may be repeated. */
  texts(flag: string): readonly string[];
  /** Options of the configuration on the command line. */
  readonly options: OptionFlags;
}

/** @throws IndexerError USAGE (exit 2) with one line per problem */
export function parse(syntax: Syntax, argv: readonly string[]): Args {
  const parser = new ArgumentParser(syntax);
  const tokens = tokensOf(syntax, argv);
  for (let index = 0; index < tokens.length; index += 1)
    index += parser.take(tokens[index] as Token, tokens.slice(index + 1));
  return parser.end();
}

/** Makes all words operands. Used for a command that parses them itself. */
export function unparsedArgs(argv: readonly string[]): Args {
  return { operands: argv, has: () => false, text: () => undefined, texts: () => [], options: emptyFlags };
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];
type OptionToken = Extract<Token, { readonly kind: 'option' }>;

const optionsByName = new Map(optionList.map((option) => [option.name, option]));

/**
 * Prefix for a word that begins like a flag but is not a flag, as in `query "-- the newest"`. No argument can contain
 * this character.
 */
const mask = '\0';

function tokensOf({ flags, options }: Syntax, argv: readonly string[]): readonly Token[] {
  const ownFlags = flags.map(({ name, value }) => [name, hasValue(value) ? 'string' : 'boolean'] as const);
  const configOptions =
    options === false
      ? []
      : optionList.map(({ name, type }) => [name, type === 'boolean' ? 'boolean' : 'string'] as const);
  const parseOptions = Object.fromEntries([...configOptions, ...ownFlags].map(([name, type]) => [name, { type }]));
  const args = argv.map((argument) => (/^--?\s/.test(argument) ? `${mask}${argument}` : argument));
  return parseArgs({ args, options: parseOptions, strict: false, allowPositionals: true, tokens: true }).tokens;
}

/**
 * Whether the flag requires a value. If the value is optional (in brackets), the code checks whether a value follows
 * the flag.
 */
function hasValue(value: string | undefined): boolean {
  return value !== undefined && !value.startsWith('[');
}

class ArgumentParser {
  readonly #syntax: Syntax;
  readonly #flags: ReadonlyMap<string, CommandFlag>;
  readonly #operands: string[] = [];
  readonly #given = new Map<string, readonly string[]>();
  readonly #options = new Map<string, string>();
  readonly #misplaced: string[] = [];
  readonly #problems: string[] = [];

  constructor(syntax: Syntax) {
    this.#syntax = syntax;
    this.#flags = new Map(syntax.flags.map((flag) => [flag.name, flag]));
  }

  /** Assigns a token. Returns how many of the following tokens were its values. */
  take(token: Token, nextTokens: readonly Token[]): number {
    if (token.kind === 'positional') this.#operands.push(token.value.replace(mask, ''));
    if (token.kind !== 'option') return 0;
    if (!token.rawName.startsWith('--')) {
      this.#problems.push(`${token.rawName}: expected a flag with two dashes, or a value`);
      return 0;
    }
    const flag = this.#flags.get(token.name);
    if (flag === undefined) return this.#option(token, nextTokens[0]);
    const previousValue = this.#given.get(flag.name);
    if (previousValue !== undefined && flag.list !== true) this.#problems.push(`--${flag.name}: given twice`);
    const values = valuesOf(flag, token, nextTokens);
    if ('problem' in values) this.#problems.push(values.problem);
    else this.#problems.push(...values.texts.flatMap((text) => valueProblems(flag, text)));
    this.#given.set(flag.name, [...(previousValue ?? []), ...('texts' in values ? values.texts : [])]);
    return values.used;
  }

  /** Stores a configuration option. */
  #option({ name, rawName, value, inlineValue }: OptionToken, next: Token | undefined): number {
    const negated = name.startsWith('no-') ? optionsByName.get(name.slice(3)) : undefined;
    const option = negated?.type === 'boolean' ? negated : optionsByName.get(name);
    if (option === undefined || this.#syntax.options === false) {
      const flagNames = [...this.#flags.keys(), ...(this.#syntax.options === false ? [] : optionsByName.keys())];
      const suggestion = suggestionText(
        rawName,
        flagNames.map((flagName) => `--${flagName}`),
      );
      this.#problems.push(`${rawName}: no such flag${suggestion}`);
      // The value of an unknown flag is not reported as a second error. It is not printed, because it may be a secret.
      return value === undefined && next?.kind === 'positional' ? 1 : 0;
    }
    const isMissing =
      option.type !== 'boolean' && (value === undefined || value === '' || (!inlineValue && value.startsWith('--')));
    if (isMissing) this.#problems.push(`${rawName}: expected a value`);
    const previousValue = this.#options.get(option.name);
    if (previousValue !== undefined && option.type !== 'list') this.#problems.push(`${rawName}: given twice`);
    const text = value ?? String(negated === undefined);
    const problem =
      option === negated && value !== undefined ? `${rawName}: expected no value` : secretProblem(option, text);
    if (problem !== undefined) this.#misplaced.push(problem);
    else this.#options.set(option.name, previousValue === undefined ? text : `${previousValue},${text}`);
    return 0;
  }

  end(): Args {
    const { operands } = this.#syntax;
    this.#refuseOperands(operands);
    if (this.#problems.length > 0) throw usageProblem(this.#syntax, this.#problems);
    return {
      operands: this.#operands,
      has: (flag) => this.#given.has(flag),
      text: (flag) => this.#given.get(flag)?.[0],
      texts: (flag) => this.#given.get(flag) ?? [],
      options: { values: this.#options, problems: this.#misplaced },
    };
  }

  #refuseOperands(expectedOperands: readonly Operand[]): void {
    for (const [index, operand] of expectedOperands.entries()) {
      const value = this.#operands[index];
      if (value === undefined && operand.optional !== true)
        this.#problems.push(`expected ${operand.name}, found nothing`);
      if (value === undefined || operand.words === undefined || operand.words.includes(value)) continue;
      const suggestion = suggestionText(value, operand.words);
      this.#problems.push(`"${value.slice(0, 80)}": expected one of ${operand.words.join(', ')}${suggestion}`);
    }
    if (expectedOperands.at(-1)?.repeated === true) return;
    for (const extraOperand of this.#operands.slice(expectedOperands.length)) {
      this.#problems.push(`"${extraOperand.slice(0, 80)}": expected no such argument`);
    }
  }
}

/** Why the option is not allowed on the command line; undefined if it is allowed. */
function secretProblem({ name, env, secret }: Option<unknown>, text: string): string | undefined {
  const problem = `--${name}: expected in ${env} or ${env}_FILE, because every user of the machine can read arguments`;
  if (secret === 'value') return problem;
  const hasPassword = secret === 'url' && maskUrl(text) !== text;
  return hasPassword ? `${problem}; a flag takes an address without a password` : undefined;
}

type Values =
  { readonly texts: readonly string[]; readonly used: number } | { readonly problem: string; readonly used: number };

function valuesOf({ name, value }: CommandFlag, token: OptionToken, nextTokens: readonly Token[]): Values {
  if (value === undefined) {
    return token.value === undefined ? { texts: [], used: 0 } : { problem: `--${name}: expected no value`, used: 0 };
  }
  if (!hasValue(value)) {
    const next = token.value === undefined ? positionalText(nextTokens[0]) : token.value;
    return { texts: next === undefined ? [] : [next], used: next === undefined || token.value !== undefined ? 0 : 1 };
  }
  const placeholders = value.split(' ');
  const isFlag = !token.inlineValue && token.value?.startsWith('--') === true;
  if (token.value === undefined || token.value === '' || isFlag)
    return missingValue(name, placeholders[0], token.value);
  const moreValues = placeholders.slice(1).map((_, index) => positionalText(nextTokens[index]));
  const missingIndex = moreValues.indexOf(undefined);
  if (missingIndex >= 0) return missingValue(name, placeholders[missingIndex + 1], rawNameOf(nextTokens[missingIndex]));
  return { texts: [token.value, ...moreValues.filter((text) => text !== undefined)], used: moreValues.length };
}

function valueProblems({ name, type }: CommandFlag, text: string): readonly string[] {
  const parsed = type?.parse(text);
  if (parsed === undefined || !('expected' in parsed)) return [];
  return [`--${name}: expected ${parsed.expected}, found "${text.slice(0, 200)}"`];
}

function positionalText(token: Token | undefined): string | undefined {
  return token?.kind === 'positional' ? token.value : undefined;
}

function rawNameOf(token: Token | undefined): string | undefined {
  return token?.kind === 'option' ? token.rawName : undefined;
}

function missingValue(name: string, expected = '', actualValue = ''): Values {
  const actualText = actualValue === '' ? 'nothing' : `"${actualValue.slice(0, 80)}"`;
  return { problem: `--${name}: expected ${expected} after it, found ${actualText}`, used: 0 };
}

function usageProblem({ name }: Syntax, problems: readonly string[]): IndexerError {
  const [firstProblem = ''] = problems;
  const text =
    problems.length === 1
      ? `${name}: ${firstProblem}`
      : [`${name}:`, ...problems.map((problem) => `  ${problem}`)].join('\n');
  return usageError(text, `run \`ledger-indexer ${name} --help\` to see its arguments`);
}
