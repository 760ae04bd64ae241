/** Parses types in the notation of declarations. */

/** A type: a head applied to arguments. */
export type TypeTree =
  | { readonly kind: 'builtin'; readonly code: number; readonly arguments: readonly TypeTree[] }
  /** A record, variant or enum: `Entity` or `Module.Path:Entity`. */
  | { readonly kind: 'named'; readonly name: string; readonly arguments: readonly TypeTree[] }
  /** A type parameter of the enclosing record. Its name begins with a lower-case letter. */
  | { readonly kind: 'variable'; readonly name: string }
  /** The scale of a Numeric. */
  | { readonly kind: 'natural'; readonly value: number };

/** The numbers of the built-in types in the definition of the language. */
const codes: Readonly<Record<string, number>> = {
  Bool: 1,
  Int: 2,
  Date: 3,
  Time: 4,
  Numeric: 5,
  Party: 6,
  Text: 7,
  ContractId: 8,
  Optional: 9,
  Map: 11,
  TextMap: 19,
};
const unit = 0;
const list = 10;

function builtin(code: number, args: readonly TypeTree[] = []): TypeTree {
  return { kind: 'builtin', code, arguments: args };
}

const decimal = builtin(codes['Numeric'] ?? 0, [{ kind: 'natural', value: 10 }]);

class Reader {
  readonly #source: string;
  readonly #tokens: string[];

  constructor(source: string) {
    this.#source = source;
    this.#tokens = source.match(/[A-Za-z_][\w.:]*|\d+|\S/g) ?? [];
  }

  readAll(): TypeTree {
    const type = this.#applied();
    if (this.#tokens.length > 0) throw this.#wrong();
    return type;
  }

  /** Parses a head and all its arguments. */
  #applied(): TypeTree {
    const head = this.#atom();
    const args: TypeTree[] = [];
    while (this.#tokens.length > 0 && !/^[\]),]$/.test(this.#tokens[0] ?? '')) args.push(this.#atom());
    if (args.length === 0) return head;
    if (head.kind !== 'builtin' && head.kind !== 'named') throw this.#wrong();
    return { ...head, arguments: args };
  }

  #atom(): TypeTree {
    const token = this.#tokens.shift() ?? '';
    if (token === '[') return builtin(list, [this.#closed(']')]);
    if (token === '(') return this.#parenthesised();
    if (/^\d/.test(token)) return { kind: 'natural', value: Number(token) };
    if (token === 'Decimal') return decimal;
    if (Object.hasOwn(codes, token)) return builtin(codes[token] ?? 0);
    if (/^[a-z]/.test(token)) return { kind: 'variable', name: token };
    if (!/^[A-Z]/.test(token)) throw this.#wrong();
    return { kind: 'named', name: token, arguments: [] };
  }

  /** Parses `()`, a type in parentheses, or a pair. */
  #parenthesised(): TypeTree {
    if (this.#tokens[0] === ')') {
      this.#tokens.shift();
      return builtin(unit);
    }
    const first = this.#applied();
    const next = this.#tokens.shift();
    if (next === ')') return first;
    if (next !== ',') throw this.#wrong();
    return { kind: 'named', name: 'DA.Types:Tuple2', arguments: [first, this.#closed(')')] };
  }

  #closed(closingToken: string): TypeTree {
    const type = this.#applied();
    if (this.#tokens.shift() !== closingToken) throw this.#wrong();
    return type;
  }

  #wrong(): Error {
    return new Error(`a declaration has the type "${this.#source}", which is not a type`);
  }
}

/** Parses a type. Throws if the text is not a type. */
export function readType(source: string): TypeTree {
  return new Reader(source).readAll();
}
