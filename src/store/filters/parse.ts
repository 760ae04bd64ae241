/** Parses filters. Keywords may be in any case; `and` binds closer than `or`, and `not` closer than both. */
import { type Comparison, type Condition, type FieldPath, type Filter, filterLimits, type Literal } from './filter.ts';
import { filterError, type Token, tokensOf } from './tokens.ts';

const comparisons: Readonly<Record<string, Comparison>> = {
  '=': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

/** @throws IndexerError FILTER_INVALID */
export function parseFilter(text: string): Filter {
  return new FilterParser(tokensOf(text)).parse();
}

/** Parses the path of a field, such as `payload.owner`. @throws IndexerError FILTER_INVALID */
export function parseField(text: string): FieldPath {
  return new FilterParser(tokensOf(text)).parseField();
}

class FilterParser {
  readonly #tokens: readonly Token[];
  #index = 0;
  #conditions = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Filter {
    const filter = this.#joined('or', 0);
    if (this.#next.kind !== 'end') throw this.#expected('and, or, or the end of the filter');
    return filter;
  }

  parseField(): FieldPath {
    const field = this.#field();
    if (this.#next.kind !== 'end') throw this.#expected('the end of the name of a field');
    return field;
  }

  get #next(): Token {
    return this.#tokens[this.#index] ?? { kind: 'end', value: '', position: 1 };
  }

  #joined(kind: 'and' | 'or', depth: number): Filter {
    const part = (): Filter => (kind === 'or' ? this.#joined('and', depth) : this.#single(depth));
    const parts = [part()];
    while (this.#takeWord(kind)) parts.push(part());
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind, parts };
  }

  #single(depth: number): Filter {
    if (depth > filterLimits.depth) {
      throw filterError(`more than ${String(filterLimits.depth)} levels are nested`, this.#next.position);
    }
    if (this.#takeWord('not')) return { kind: 'not', part: this.#single(depth + 1) };
    if (!this.#takeSymbol('(')) return this.#condition();
    const filter = this.#joined('or', depth + 1);
    this.#requireSymbol(')');
    return filter;
  }

  #condition(): Condition {
    this.#conditions += 1;
    if (this.#conditions > filterLimits.conditions) {
      throw filterError(`it has more than ${String(filterLimits.conditions)} conditions`, this.#next.position);
    }
    const field = this.#field();
    const { kind, value } = this.#next;
    const operator = kind === 'symbol' && Object.hasOwn(comparisons, value) ? comparisons[value] : undefined;
    if (operator !== undefined) {
      this.#index += 1;
      return { kind: 'compare', field, operator, literal: this.#literal() };
    }
    if (this.#takeWord('in')) return { kind: 'in', field, literals: this.#literals() };
    if (this.#takeWord('has')) return { kind: 'has', field, literal: this.#literal() };
    if (!this.#takeWord('is')) throw this.#expected('a comparison, in, has or is');
    const isNull = !this.#takeWord('not');
    if (!this.#takeWord('null')) throw this.#expected('null');
    return { kind: 'null', field, isNull };
  }

  #field(): FieldPath {
    const { position } = this.#next;
    const steps = [this.#step()];
    while (this.#takeSymbol('.')) steps.push(this.#step());
    if (steps.length > filterLimits.steps) {
      throw filterError(`the path of a field has more than ${String(filterLimits.steps)} steps`, position);
    }
    return { steps, position };
  }

  #step(): string {
    const { kind, value } = this.#next;
    if (kind !== 'word' && kind !== 'name') throw this.#expected('the name of a field');
    this.#index += 1;
    return value;
  }

  #literals(): readonly Literal[] {
    const { position } = this.#next;
    this.#requireSymbol('(');
    const literals = [this.#literal()];
    while (this.#takeSymbol(',')) literals.push(this.#literal());
    this.#requireSymbol(')');
    if (literals.length <= filterLimits.values) return literals;
    throw filterError(`a list has more than ${String(filterLimits.values)} values`, position);
  }

  #literal(): Literal {
    const { kind, value } = this.#next;
    if (kind === 'text' || kind === 'number') {
      this.#index += 1;
      return { kind, value };
    }
    if (this.#takeWord('true')) return { kind: 'boolean', value: true };
    if (this.#takeWord('false')) return { kind: 'boolean', value: false };
    throw this.#expected("a number, true, false, or a text in single quotes ('…')");
  }

  #takeWord(word: string): boolean {
    return this.#take(this.#next.kind === 'word' && this.#next.value.toLowerCase() === word);
  }

  #takeSymbol(symbol: string): boolean {
    return this.#take(this.#next.kind === 'symbol' && this.#next.value === symbol);
  }

  #take(isNext: boolean): boolean {
    if (isNext) this.#index += 1;
    return isNext;
  }

  #requireSymbol(symbol: string): void {
    if (!this.#takeSymbol(symbol)) throw this.#expected(`"${symbol}"`);
  }

  #expected(what: string): Error {
    const { kind, position } = this.#next;
    return filterError(`expected ${what}${kind === 'end' ? ', but the filter ends' : ''}`, position);
  }
}
