/**
 * Terms of a package as types of the model: type synonyms of the same package are replaced by what they stand for. Synonyms
 * of other packages cannot be looked up here and become opaque; compilers do not write them in types of payloads.
 */
import type { BuiltinName, DamlType, TypeName } from './package-model.ts';
import { bindParameters, substitute } from './type-parameters.ts';
import { depthLimit, type TypeTerm } from './type-terms.ts';

export interface TypeSynonym {
  readonly parameters: readonly string[];
  readonly body: TypeTerm;
}

interface Measured {
  readonly type: DamlType;
  /** Parts, counted as often as they are written. */
  readonly size: number;
  readonly depth: number;
}

/** Most parts of one type and of all types of a package, as they are written in the model. */
const typeLimit = 5_000;
const packageLimit = 200_000;

const builtins: Readonly<Record<number, BuiltinName>> = {
  0: 'unit',
  1: 'bool',
  2: 'int64',
  3: 'date',
  4: 'timestamp',
  6: 'party',
  7: 'text',
  13: 'any',
};
const numeric = 5;
const genmap = 11;
const containers: Readonly<Record<number, 'contract_id' | 'optional' | 'list' | 'textmap'>> = {
  8: 'contract_id',
  9: 'optional',
  10: 'list',
  19: 'textmap',
};

const opaque: DamlType = { kind: 'opaque' };

function measure(type: DamlType, parts: readonly Measured[]): Measured {
  const size = parts.reduce((sum, part) => sum + part.size, 1);
  const depth = parts.reduce((deepest, part) => Math.max(deepest, part.depth), 0) + 1;
  if (size > typeLimit || depth > depthLimit) throw new Error('a type is too large');
  return { type, size, depth };
}

function measureWritten(type: DamlType): Measured {
  if (type.kind === 'named') return measure(type, type.arguments.map(measureWritten));
  if (type.kind === 'genmap') return measure(type, [measureWritten(type.key), measureWritten(type.of)]);
  return measure(type, 'of' in type ? [measureWritten(type.of)] : []);
}

/** Resolves terms of one package; throws when types are too large, or synonyms stand for themselves. */
export class TypeResolution {
  readonly #synonyms: ReadonlyMap<TypeName, TypeSynonym>;
  readonly #known = new Map<TypeTerm, Measured>();
  readonly #open = new Set<TypeName>();
  #written = 0;
  #expanded = 0;

  constructor(synonyms: ReadonlyMap<TypeName, TypeSynonym>) {
    this.#synonyms = synonyms;
  }

  /** The type that a term stands for. */
  resolve(term: TypeTerm): DamlType {
    const { type, size } = this.#measured(term);
    this.#written += size;
    if (this.#written > packageLimit) throw new Error(`its types have more than ${packageLimit} parts`);
    return type;
  }

  #measured(term: TypeTerm): Measured {
    const known = this.#known.get(term);
    if (known !== undefined) return known;
    const found = this.#make(term);
    this.#known.set(term, found);
    return found;
  }

  #make(term: TypeTerm): Measured {
    const { head } = term;
    if (head.kind === 'builtin') return this.#builtin(head.code, term);
    if (head.kind === 'synonym') return this.#synonym(head.name, term);
    if (head.kind === 'data') {
      const parts = term.arguments.map((each) => this.#measured(each));
      return measure({ kind: 'named', name: head.name, arguments: parts.map((part) => part.type) }, parts);
    }
    const plain = head.kind === 'variable' && term.arguments.length === 0;
    return measure(plain ? { kind: 'variable', name: head.name } : opaque, []);
  }

  #builtin(code: number, term: TypeTerm): Measured {
    const [first, second] = term.arguments;
    const name = builtins[code];
    if (name !== undefined && first === undefined) return measure({ kind: 'builtin', name }, []);
    if (first === undefined || term.arguments.length > 2) return measure(opaque, []);
    if (code === genmap && second !== undefined) {
      const [key, of] = [this.#measured(first), this.#measured(second)];
      return measure({ kind: 'genmap', key: key.type, of: of.type }, [key, of]);
    }
    if (second !== undefined) return measure(opaque, []);
    if (code === numeric) {
      const { head } = first;
      return measure(head.kind === 'natural' ? { kind: 'numeric', scale: head.value } : { kind: 'numeric' }, []);
    }
    const kind = containers[code];
    if (kind === undefined) return measure(opaque, []);
    const of = this.#measured(first);
    return measure({ kind, of: of.type }, [of]);
  }

  #synonym(name: TypeName, term: TypeTerm): Measured {
    const synonym = this.#synonyms.get(name);
    if (synonym === undefined || synonym.parameters.length !== term.arguments.length) return measure(opaque, []);
    if (this.#open.has(name)) throw new Error('a type synonym stands for itself');
    this.#open.add(name);
    const body = this.#measured(synonym.body);
    this.#open.delete(name);
    const parts = term.arguments.map((each) => this.#measured(each));
    // No substitution writes more than the product, so nothing larger than the limits is ever made.
    this.#expanded += body.size * parts.reduce((largest, part) => Math.max(largest, part.size), 1);
    if (this.#expanded > packageLimit) throw new Error('its type synonyms stand for too much');
    const bindings = bindParameters(
      synonym.parameters,
      parts.map((part) => part.type),
    );
    return measureWritten(substitute(body.type, bindings));
  }
}
