/** Splits the text of a filter into words, values and symbols. */
import { IndexerError } from '../../errors/indexer-error.ts';
import { filterLimits } from './filter.ts';

export interface Token {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'symbol' | 'end';
  /** Without quotes. */
  readonly value: string;
  /** Position of the first character, from 1. */
  readonly position: number;
}

/** Each alternative reads every character at most once, so the time is proportional to the length. */
const tokenPattern =
  /(?<text>'(?:[^']|'')*')|(?<name>"(?:[^"]|"")+")|(?<number>-?\d+(?:\.\d+)?)|(?<word>[A-Za-z_][\w$]*)|(?<symbol>!=|<>|<=|>=|[=<>(),.])/y;
const space = /\s*/y;

/** @throws IndexerError FILTER_INVALID */
export function tokensOf(text: string): readonly Token[] {
  if (text.length > filterLimits.characters) {
    throw filterError(`it has ${String(text.length)} characters; the maximum is ${String(filterLimits.characters)}`);
  }
  if (text.includes('\0')) throw filterError('it contains the character U+0000');
  const tokens: Token[] = [];
  for (let index = afterSpace(text, 0); index < text.length;) {
    tokenPattern.lastIndex = index;
    const match = tokenPattern.exec(text);
    if (match === null) throw filterError(problemAt(text, index), index + 1);
    tokens.push(tokenOf(match.groups ?? {}, index + 1));
    index = afterSpace(text, tokenPattern.lastIndex);
  }
  return [...tokens, { kind: 'end', value: '', position: text.length + 1 }];
}

function afterSpace(text: string, index: number): number {
  space.lastIndex = index;
  space.exec(text);
  return space.lastIndex;
}

function tokenOf(groups: Readonly<Record<string, string | undefined>>, position: number): Token {
  const { text, name, number, word, symbol = '' } = groups;
  if (text !== undefined) return { kind: 'text', value: text.slice(1, -1).replaceAll("''", "'"), position };
  if (name !== undefined) return { kind: 'name', value: name.slice(1, -1).replaceAll('""', '"'), position };
  if (number !== undefined) return { kind: 'number', value: number, position };
  return word === undefined ? { kind: 'symbol', value: symbol, position } : { kind: 'word', value: word, position };
}

function problemAt(text: string, index: number): string {
  if (text[index] === "'") return 'a text has no closing quote';
  if (text[index] === '"') return 'a name in double quotes is empty or has no closing quote';
  return `"${String.fromCodePoint(text.codePointAt(index) ?? 0)}" is not part of the language of filters`;
}

/** @param position position in the text, from 1 */
export function filterError(problem: string, position?: number): IndexerError {
  const where = position === undefined ? '' : ` at character ${String(position)}`;
  return new IndexerError(`the filter cannot be used: ${problem}${where}`, {
    code: 'FILTER_INVALID',
    facts: position === undefined ? {} : { position },
  });
}
