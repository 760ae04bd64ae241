/**
 * Payloads as types of TypeScript, in the form in which the JSON Ledger API writes their values: Int and Numeric are texts, None
 * is null or missing, an Optional in an Optional an array of at most one value. Pure.
 */
import type { BuiltinName, DamlField, DamlType, DataType } from '../daml/package-model.ts';
import { bindParameters, fieldType, findDataType, type TypeBindings } from '../daml/type-walk.ts';
import { capital, identifiersOf, keyText, literalText } from './identifiers.ts';
import type { KnownTypes, TypeKey, TypeVersion } from './known-types.ts';
import { TypePlaces } from './type-places.ts';

type NamedType = Extract<DamlType, { kind: 'named' }>;
type RecordType = Extract<DataType, { kind: 'record' }>;

/** How often a record may be written out in the place of its name, one inside the other. */
const inlineLimit = 3;

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

/** Where a type is written: names of the parameters around it, and how often a record was written out around it. */
interface Scope {
  readonly parameters: ReadonlyMap<string, string>;
  readonly inlined: number;
}

const outside: Scope = { parameters: new Map(), inlined: 0 };

/** One declaration, in the namespaces it stands in. */
export interface Declaration {
  readonly namespaces: readonly string[];
  readonly name: string;
  /** `type Name<A> = …;` */
  readonly text: string;
}

/** Writes types, and remembers which data types they name. */
export class PayloadTypes {
  readonly #known: KnownTypes;
  readonly #places: TypePlaces;
  readonly #named = new Set<TypeKey>();

  constructor(known: KnownTypes) {
    this.#known = known;
    this.#places = new TypePlaces(known);
  }

  /** A type as values of it look. */
  text(type: DamlType): string {
    return this.#text(type, outside);
  }

  /** The declarations of all data types named so far, and of those that they name. */
  declarations(): readonly Declaration[] {
    const done = new Map<TypeKey, Declaration>();
    for (;;) {
      const open = [...this.#named].filter((key) => !done.has(key));
      if (open.length === 0) break;
      for (const key of open) done.set(key, this.#declaration(key));
    }
    return [...done].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, declaration]) => declaration);
  }

  #declaration(key: TypeKey): Declaration {
    const versions = this.#known.definitionsOf(key);
    const [newest] = versions;
    const names = newest === undefined || newest.definition.kind === 'enum' ? [] : newest.definition.parameters;
    const parameters = parameterNames(names);
    const bodies = versions.map((version) => this.#body(version, { parameters, inlined: 0 }));
    const { namespaces, name } = this.#places.of(key);
    const applied = parameters.size === 0 ? '' : `<${[...parameters.values()].join(', ')}>`;
    return { namespaces, name, text: `type ${name}${applied} =${[...new Set(bodies)].map(spaced).join(' |')};` };
  }

  #body({ definition, lasting }: TypeVersion, scope: Scope): string {
    if (definition.kind === 'enum') return union(definition.cases.map(literalText));
    if (definition.kind === 'record') {
      const lines = this.#fields(definition.fields, lasting, scope);
      return lines.length === 0 ? 'daml.Unit' : ['{', ...lines.map((line) => `  ${line}`), '}'].join('\n');
    }
    const cases = definition.cases.map(
      ({ name, type }) => `{ readonly tag: ${literalText(name)}; readonly value: ${this.#text(type, scope)} }`,
    );
    return cases.length === 0 ? 'never' : cases.map((each) => `\n  | ${each}`).join('');
  }

  #fields(fields: readonly DamlField[], lasting: number, scope: Scope): readonly string[] {
    const always = fields.findLastIndex(({ type }) => type.kind !== 'optional' || type.of.kind === 'optional');
    return fields.map(({ name, type }, at) => {
      const mayLack = at > always || at >= lasting;
      return `readonly ${keyText(name)}${mayLack ? '?' : ''}: ${this.#text(type, scope)};`;
    });
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
    return type.kind === 'variable' ? (scope.parameters.get(type.name) ?? 'unknown') : 'unknown';
  }

  #optional(type: Extract<DamlType, { of: DamlType }>, scope: Scope): string {
    return type.of.kind === 'optional' ? this.#nested(type, scope) : orNull(this.#text(type.of, scope));
  }

  /** Of Optionals in each other, each is an array of at most one value. */
  #nested({ of }: { readonly of: DamlType }, scope: Scope): string {
    const inside = of.kind === 'optional' ? this.#nested(of, scope) : this.#text(of, scope);
    return `readonly [] | readonly [${inside}]`;
  }

  /** Of what: a template by its payload. Interfaces are no data types. */
  #contractId(of: DamlType, scope: Scope): string {
    const inside = this.#text(of, scope);
    return inside === 'unknown' ? 'daml.ContractId' : `daml.ContractId<${inside}>`;
  }

  #reference(type: NamedType, scope: Scope): string {
    const key = this.#known.keyOf(type.name);
    const definition = findDataType(type.name, this.#known.lookup);
    if (key === undefined || definition === undefined) return 'unknown';
    if (definition.kind === 'record' && scope.inlined < inlineLimit && endsWithNone(definition, type)) {
      const bindings = bindParameters(definition.parameters, type.arguments);
      return this.#writtenOut(definition, bindings, { ...scope, inlined: scope.inlined + 1 });
    }
    this.#named.add(key);
    const applied = type.arguments.map((each) => this.#text(each, scope));
    return `${this.#places.path(key)}${applied.length === 0 ? '' : `<${applied.join(', ')}>`}`;
  }

  #writtenOut(definition: RecordType, bindings: TypeBindings, scope: Scope): string {
    const fields = definition.fields.map(({ name, type }) => ({ name, type: fieldType(type, bindings) }));
    return `{ ${this.#fields(fields, fields.length, scope).join(' ')} }`;
  }
}

/**
 * Whether a last field of a record is an Optional only by an argument, such as `_2` of `(Text, Optional Int)`: the ledger
 * leaves it out as any other, which a parameter cannot say.
 */
function endsWithNone(definition: RecordType, { arguments: args }: NamedType): boolean {
  if (!args.some(({ kind }) => kind === 'optional')) return false;
  const bindings = bindParameters(definition.parameters, args);
  const spelled = definition.fields.findLastIndex(({ type }) => type.kind !== 'optional');
  const bound = definition.fields.findLastIndex(({ type }) => fieldType(type, bindings).kind !== 'optional');
  return bound < spelled;
}

/** Parameters of Daml begin with a small letter, and no type of TypeScript that is used here is called like one with a capital. */
function parameterNames(parameters: readonly string[]): ReadonlyMap<string, string> {
  return identifiersOf(parameters, capital);
}

function union(texts: readonly string[]): string {
  return texts.length === 0 ? 'never' : texts.join(' | ');
}

/** Cases stand on lines of their own. */
function spaced(body: string): string {
  return body.startsWith('\n') ? body : ` ${body}`;
}

function orNull(text: string): string {
  return text === 'unknown' || text === 'daml.Json' ? text : `${text} | null`;
}

/** What stands before `[]`. */
function element(text: string): string {
  return / \| |^readonly /.test(text) ? `(${text})` : text;
}
