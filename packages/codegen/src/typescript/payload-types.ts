/**
 * Payloads as TypeScript types, in the JSON form of the JSON Ledger API: Int and Numeric are texts, None is null or
 * missing, and an Optional in an Optional is an array of at most one value. Pure.
 */
import type { BuiltinName, DamlType } from 'ledger-indexer/codegen';
import { capitalize, identifiersOf, literalText } from './identifiers.ts';
import { parametersOf, membersOf, type KnownTypes, type TypeKey, type TypeVersion } from './known-types.ts';
import { recordText } from './record-text.ts';
import { TypeLocations } from './type-locations.ts';

type NamedType = Extract<DamlType, { kind: 'named' }>;

const builtinTexts: Readonly<Record<BuiltinName, string>> = {
  unit: 'daml.Unit',
  any: 'daml.Json',
  bool: 'boolean',
  int64: 'daml.Int',
  text: 'string',
  party: 'daml.Party',
  date: 'daml.Date',
  timestamp: 'daml.Time',
};

/** TypeScript names of the parameters of the surrounding data type, by their names in Daml. */
type Scope = ReadonlyMap<string, string>;

const emptyScope: Scope = new Map();

/** One declaration and the namespaces that contain it. */
export interface Declaration {
  readonly namespaces: readonly string[];
  readonly name: string;
  /** Text of the declaration: `type Name<A> = …;` */
  readonly text: string;
}

/** Generates the text of types, and records which data types they reference. */
export class PayloadTypes {
  readonly #known: KnownTypes;
  readonly #places: TypeLocations;
  readonly #named = new Set<TypeKey>();

  constructor(knownTypes: KnownTypes) {
    this.#known = knownTypes;
    this.#places = new TypeLocations(knownTypes);
  }

  /** The TypeScript type for values of a Daml type. */
  text(type: DamlType): string {
    return this.#text(type, emptyScope);
  }

  /** The union of the types of all versions if they differ. Undefined means that a version has no type. */
  either(types: readonly (DamlType | undefined)[]): string {
    return union([...new Set(types.map((type) => (type === undefined ? 'null' : this.text(type))))]);
  }

  /** The declarations of all data types referenced so far, and of the data types that they reference. */
  declarations(): readonly Declaration[] {
    const declarations = new Map<TypeKey, Declaration>();
    for (;;) {
      const undeclared = [...this.#named].filter((key) => !declarations.has(key));
      if (undeclared.length === 0) break;
      for (const key of undeclared) declarations.set(key, this.#declaration(key));
    }
    return [...declarations].sort(([left], [other]) => (left < other ? -1 : 1)).map(([, declaration]) => declaration);
  }

  #declaration(key: TypeKey): Declaration {
    const versions = this.#known.definitionsOf(key);
    const scopes = scopesOf(versions.map(({ definition }) => parametersOf(definition)));
    const bodies = versions.map((version, index) => this.#body(version, scopes[index] ?? emptyScope));
    const { namespaces, name } = this.#places.of(key);
    const parameters = [...(scopes[0] ?? emptyScope).values()];
    const argumentList = parameters.length === 0 ? '' : `<${parameters.join(', ')}>`;
    return { namespaces, name, text: `type ${name}${argumentList} =${unionOfBodies([...new Set(bodies)])};` };
  }

  #body({ definition, lasting: lastingCount }: TypeVersion, scope: Scope): string {
    if (definition.kind === 'enum') return union(definition.cases.map(literalText));
    const fields = membersOf(definition).map(({ name, type }) => ({ name, type, text: this.#text(type, scope) }));
    if (definition.kind === 'record') return recordText(fields, lastingCount, scope);
    const caseTexts = fields.map(({ name, text }) => `{ readonly tag: ${literalText(name)}; readonly value: ${text} }`);
    return caseTexts.length === 0 ? 'never' : caseTexts.map((caseText) => `\n  | ${caseText}`).join('');
  }

  #text(type: DamlType, scope: Scope): string {
    if (type.kind === 'builtin') return builtinTexts[type.name];
    if (type.kind === 'numeric') return 'daml.Numeric';
    if (type.kind === 'optional') return this.#optional(type, scope);
    if (type.kind === 'list') return `readonly ${element(this.#text(type.of, scope))}[]`;
    if (type.kind === 'textmap') return `{ readonly [key: string]: ${this.#text(type.of, scope)} }`;
    if (type.kind === 'genmap') {
      return `readonly (readonly [${this.#text(type.key, scope)}, ${this.#text(type.of, scope)}])[]`;
    }
    if (type.kind === 'contract_id') return this.#contractId(type.of, scope);
    if (type.kind === 'named') return this.#reference(type, scope);
    return type.kind === 'variable' ? (scope.get(type.name) ?? 'unknown') : 'unknown';
  }

  #optional(type: Extract<DamlType, { of: DamlType }>, scope: Scope): string {
    return type.of.kind === 'optional' ? this.#nested(type, scope) : withNull(this.#text(type.of, scope));
  }

  /** The type of nested Optionals: an array of at most one value at each level. */
  #nested({ of: wrappedType }: { readonly of: DamlType }, scope: Scope): string {
    const innerText =
      wrappedType.kind === 'optional' ? this.#nested(wrappedType, scope) : this.#text(wrappedType, scope);
    return `readonly [] | readonly [${innerText}]`;
  }

  /**
   * The type of a contract id, with the type of its content: the payload for a template. Interfaces are not data types.
   */
  #contractId(contractType: DamlType, scope: Scope): string {
    const innerText = this.#text(contractType, scope);
    return innerText === 'unknown' ? 'daml.ContractId' : `daml.ContractId<${innerText}>`;
  }

  #reference(type: NamedType, scope: Scope): string {
    const key = this.#known.keyOf(type.name);
    if (key === undefined) return 'unknown';
    this.#named.add(key);
    const argumentTexts = type.arguments.map((argument) => this.#text(argument, scope));
    return `${this.#places.path(key)}${argumentTexts.length === 0 ? '' : `<${argumentTexts.join(', ')}>`}`;
  }
}

/**
 * Names for the parameters of each version, by position. They are derived from the names in the first version. Daml
 * parameters begin with a small letter, and no TypeScript type used here has such a name with a capital letter.
 */
function scopesOf(versions: readonly (readonly string[])[]): readonly Scope[] {
  const [first = []] = versions;
  const identifiers = identifiersOf(first, capitalize);
  const names = first.map((name) => identifiers.get(name));
  return versions.map((parameters) => new Map(parameters.map((name, index) => [name, names[index] ?? 'unknown'])));
}

function union(texts: readonly string[]): string {
  return texts.length === 0 ? 'never' : texts.join(' | ');
}

/** The text of a union. Each member follows ` ` or ` | `, and cases of a variant are on lines of their own. */
function unionOfBodies(bodies: readonly string[]): string {
  return bodies.map((body, index) => (body.startsWith('\n') ? body : `${index === 0 ? '' : ' |'} ${body}`)).join('');
}

function withNull(text: string): string {
  return text === 'unknown' || text === 'daml.Json' ? text : `${text} | null`;
}

/** The text of an element type, to be followed by `[]`. */
function element(text: string): string {
  return / \| |^readonly /.test(text) ? `(${text})` : text;
}
