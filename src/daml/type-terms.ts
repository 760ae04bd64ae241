/**
 * Types as a package encodes them: a head with arguments. Older language versions write all arguments next to the head,
 * newer versions apply them one by one; both become the same term. Types that payloads cannot have become an opaque
 * term.
 */
import type { InternedNames } from './interned-names.ts';
import type { TypeName } from './package-model.ts';
import { bytesField, numberField, readMessage } from './protobuf-message.ts';

/** The head of a type. `code` is the number of the built-in type in the definition of the language. */
export type TypeHead =
  | { readonly kind: 'builtin'; readonly code: number }
  | { readonly kind: 'data'; readonly name: TypeName }
  | { readonly kind: 'synonym'; readonly name: TypeName }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'natural'; readonly value: number }
  | { readonly kind: 'opaque' };

export interface TypeTerm {
  readonly head: TypeHead;
  readonly arguments: readonly TypeTerm[];
  /** Depth of nesting; 1 if there are no arguments. */
  readonly depth: number;
}

/** Maximum nesting depth, and maximum number of arguments of a type. Types of real payloads have far fewer. */
export const depthLimit = 100;
const argumentLimit = 100;
/** Maximum number of nested messages that encode one type: up to two for a level, and one for each argument. */
const textLimit = 300;

const opaqueTerm: TypeTerm = { head: { kind: 'opaque' }, arguments: [], depth: 1 };

function termOf(head: TypeHead, args: readonly TypeTerm[]): TypeTerm {
  const depth = 1 + args.reduce((maxDepth, argument) => Math.max(maxDepth, argument.depth), 0);
  if (depth > depthLimit) throw new Error(`a type has more than ${depthLimit} levels`);
  if (args.length > argumentLimit) throw new Error(`a type has more than ${argumentLimit} arguments`);
  return { head, arguments: args, depth };
}

/** Position of a type: its depth within another type, and the table entry before which it must be. */
interface Position {
  readonly level: number;
  readonly before: number;
}

/**
 * Reads the Type messages of one package. An entry of the type table is read only if it is referenced, and only once.
 */
export class TypeTerms {
  readonly #names: InternedNames;
  readonly #interned: readonly Uint8Array[];
  readonly #known = new Map<number, TypeTerm>();

  /** @param internedTypes the type table of the package, in which each entry refers only to earlier entries */
  constructor(names: InternedNames, internedTypes: readonly Uint8Array[]) {
    this.#names = names;
    this.#interned = internedTypes;
  }

  /** Reads a Type message. Throws if it is damaged, or too large for the type of a payload. */
  read(bytes: Uint8Array): TypeTerm {
    return this.#read(bytes, { level: 1, before: this.#interned.length });
  }

  #read(bytes: Uint8Array, position: Position): TypeTerm {
    // Limits the recursion. The depth of terms is also checked, but only after they are built.
    if (position.level > textLimit) throw new Error(`a type is written in more than ${textLimit} levels`);
    let term = opaqueTerm;
    const termField = (parseTerm: (message: Uint8Array) => TypeTerm) =>
      bytesField((message) => (term = parseTerm(message)));
    readMessage(bytes, {
      1: termField((message) => this.#variable(message, position)),
      2: termField((message) => this.#named('data', message, position)),
      3: termField((message) => this.#builtin(message, position)),
      4: termField(() => opaqueTerm),
      5: termField(() => opaqueTerm),
      6: (reader) => (term = termOf({ kind: 'natural', value: Number(reader.sint64()) }, [])),
      7: termField((message) => this.#named('synonym', message, position)),
      8: numberField((index) => (term = this.#entry(index, position))),
      9: termField((message) => this.#application(message, position)),
    });
    return term;
  }

  #inside(bytes: Uint8Array, { level: nestingLevel, before }: Position): TypeTerm {
    return this.#read(bytes, { level: nestingLevel + 1, before });
  }

  #entry(index: number, { level, before }: Position): TypeTerm {
    const bytes = this.#interned[index];
    if (bytes === undefined || index >= before) throw new Error(`there is no earlier interned type ${index}`);
    const resolved = this.#known.get(index) ?? this.#read(bytes, { level: level + 1, before: index });
    this.#known.set(index, resolved);
    return resolved;
  }

  #variable(bytes: Uint8Array, position: Position): TypeTerm {
    let index = 0;
    const args: TypeTerm[] = [];
    readMessage(bytes, {
      2: bytesField((value) => args.push(this.#inside(value, position))),
      3: numberField((value) => (index = value)),
    });
    return termOf({ kind: 'variable', name: this.#names.identifier(index) }, args);
  }

  #named(kind: 'data' | 'synonym', bytes: Uint8Array, position: Position): TypeTerm {
    let name = '';
    const args: TypeTerm[] = [];
    readMessage(bytes, {
      1: bytesField((value) => (name = this.#names.typeName(value))),
      2: bytesField((value) => args.push(this.#inside(value, position))),
    });
    return termOf({ kind, name }, args);
  }

  #builtin(bytes: Uint8Array, position: Position): TypeTerm {
    let code = 0;
    const args: TypeTerm[] = [];
    readMessage(bytes, {
      1: numberField((value) => (code = value)),
      2: bytesField((value) => args.push(this.#inside(value, position))),
    });
    return termOf({ kind: 'builtin', code }, args);
  }

  #application(bytes: Uint8Array, position: Position): TypeTerm {
    let appliedTerm = opaqueTerm;
    let argument = opaqueTerm;
    readMessage(bytes, {
      1: bytesField((value) => (appliedTerm = this.#inside(value, position))),
      2: bytesField((value) => (argument = this.#inside(value, position))),
    });
    return termOf(appliedTerm.head, [...appliedTerm.arguments, argument]);
  }
}
