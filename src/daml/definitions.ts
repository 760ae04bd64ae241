/** The definitions of modules that readers need: data types, templates and interfaces, with their types resolved. */
import type { InternedNames } from './interned-names.ts';
import type {
  BuiltinName,
  ChoiceModel,
  DamlField,
  DamlType,
  DataType,
  InterfaceModel,
  TemplateModel,
  TypeName,
} from './package-model.ts';
import { bytesField, messagesIn, numberField, numberIn, readNumbers, readMessage } from './protobuf-message.ts';
import { depthLimit, type TypeTerm, type TypeTerms } from './type-terms.ts';
import { bindParameters, substitute } from './type-walk.ts';

/** Everything that the modules of a package define. */
export interface Definitions {
  readonly templates: readonly TemplateModel[];
  readonly interfaces: readonly InterfaceModel[];
  /** Data types by `Module.Path:Name`. */
  readonly dataTypes: Readonly<Record<string, DataType>>;
}

interface Context {
  readonly names: InternedNames;
  readonly terms: TypeTerms;
  readonly types: TypeResolution;
}

/**
 * Reads the definitions of all modules.
 * @param ownPackageId id of the package that contains the modules
 */
export function parseDefinitions(
  modules: readonly Uint8Array[],
  names: InternedNames,
  terms: TypeTerms,
  ownPackageId: string,
): Definitions {
  const types = new TypeResolution(parseSynonyms(modules, names, terms, ownPackageId));
  const context: Context = { names, terms, types };
  const templates: TemplateModel[] = [];
  const interfaces: InterfaceModel[] = [];
  const dataTypes = new Map<string, DataType>();
  for (const module of modules) {
    const moduleName = names.path(numberIn(module, 1));
    readMessage(module, {
      4: bytesField((bytes) => {
        const dataType = readDataType(bytes, context);
        if (dataType !== undefined) dataTypes.set(`${moduleName}:${names.path(numberIn(bytes, 2))}`, dataType);
      }),
      6: bytesField((bytes) => templates.push(readTemplate(bytes, moduleName, context))),
      8: bytesField((bytes) => interfaces.push(parseInterface(bytes, moduleName, context))),
    });
  }
  return { templates, interfaces, dataTypes: Object.fromEntries(dataTypes) };
}

function parseSynonyms(
  modules: readonly Uint8Array[],
  names: InternedNames,
  terms: TypeTerms,
  ownPackageId: string,
): ReadonlyMap<TypeName, TypeSynonym> {
  const synonyms = new Map<TypeName, TypeSynonym>();
  for (const module of modules) {
    const moduleName = names.path(numberIn(module, 1));
    for (const bytes of messagesIn(module, 3)) {
      const name = `${ownPackageId}:${moduleName}:${names.path(numberIn(bytes, 2))}`;
      const [body] = messagesIn(bytes, 4);
      if (body === undefined) throw new Error('a type synonym has no type');
      synonyms.set(name, { parameters: readParameters(bytes, names), body: terms.read(body) });
    }
  }
  return synonyms;
}

function readParameters(definition: Uint8Array, names: InternedNames): readonly string[] {
  return messagesIn(definition, 3).map((binder) => names.identifier(numberIn(binder, 3)));
}

/** The type in one field of a message. The language requires this field. */
function typeIn(bytes: Uint8Array, field: number, context: Context): DamlType {
  const [messageBytes] = messagesIn(bytes, field);
  if (messageBytes === undefined) throw new Error('a definition lacks a type');
  return context.types.resolve(context.terms.read(messageBytes));
}

function readFields(bytes: Uint8Array, context: Context): readonly DamlField[] {
  return messagesIn(bytes, 1).map((field) => ({
    name: context.names.identifier(numberIn(field, 3)),
    type: typeIn(field, 2, context),
  }));
}

/** Undefined for data types that payloads cannot hold: interfaces, and types that contain functions. */
function readDataType(bytes: Uint8Array, context: Context): DataType | undefined {
  if (numberIn(bytes, 4) === 0) return undefined;
  const parameters = readParameters(bytes, context.names);
  let dataType: DataType | undefined;
  readMessage(bytes, {
    5: bytesField((value) => (dataType = { kind: 'record', parameters, fields: readFields(value, context) })),
    6: bytesField((value) => (dataType = { kind: 'variant', parameters, cases: readFields(value, context) })),
    7: bytesField((value) => {
      dataType = { kind: 'enum', cases: readNumbers(value, 2).map((index) => context.names.identifier(index)) };
    }),
  });
  return dataType;
}

function readChoice(bytes: Uint8Array, context: Context): ChoiceModel {
  const [argument] = messagesIn(bytes, 6);
  if (argument === undefined) throw new Error('a choice has no argument');
  return {
    name: context.names.identifier(numberIn(bytes, 2)),
    consuming: numberIn(bytes, 3) !== 0,
    argument: typeIn(argument, 2, context),
    result: typeIn(bytes, 8, context),
  };
}

function readTemplate(bytes: Uint8Array, moduleName: string, context: Context): TemplateModel {
  let entity = 0;
  let key: DamlType | undefined;
  const choices: ChoiceModel[] = [];
  const implemented: TypeName[] = [];
  readMessage(bytes, {
    1: numberField((index) => (entity = index)),
    6: bytesField((choice) => choices.push(readChoice(choice, context))),
    9: bytesField((definition) => (key = typeIn(definition, 1, context))),
    10: bytesField((instance) => {
      implemented.push(...messagesIn(instance, 1).map((name) => context.names.typeName(name)));
    }),
  });
  return { moduleName, entityName: context.names.path(entity), choices, implements: implemented, key };
}

function parseInterface(bytes: Uint8Array, moduleName: string, context: Context): InterfaceModel {
  return {
    moduleName,
    entityName: context.names.path(numberIn(bytes, 2)),
    choices: messagesIn(bytes, 5).map((choice) => readChoice(choice, context)),
    view: typeIn(bytes, 6, context),
    requires: messagesIn(bytes, 7).map((name) => context.names.typeName(name)),
  };
}

// Converts terms of a package to types of the model. A type synonym of the same package is replaced by its type.
// Synonyms of other packages cannot be resolved here and become opaque; compilers do not use them in types of payloads.

export interface TypeSynonym {
  readonly parameters: readonly string[];
  readonly body: TypeTerm;
}

interface MeasuredType {
  readonly type: DamlType;
  /** Number of parts, counted each time they occur. */
  readonly size: number;
  readonly depth: number;
}

/** Maximum number of parts of one type, and of all types of a package, as written in the model. */
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

const opaqueType: DamlType = { kind: 'opaque' };

function measureType(type: DamlType, parts: readonly MeasuredType[]): MeasuredType {
  const size = parts.reduce((sum, part) => sum + part.size, 1);
  const depth = parts.reduce((maxDepth, part) => Math.max(maxDepth, part.depth), 0) + 1;
  if (size > typeLimit || depth > depthLimit) throw new Error('a type is too large');
  return { type, size, depth };
}

function measureAppliedType(type: DamlType): MeasuredType {
  if (type.kind === 'named') return measureType(type, type.arguments.map(measureAppliedType));
  if (type.kind === 'genmap') return measureType(type, [measureAppliedType(type.key), measureAppliedType(type.of)]);
  return measureType(type, 'of' in type ? [measureAppliedType(type.of)] : []);
}

/** Resolves the terms of one package. Throws if types are too large, or if synonyms refer to themselves. */
class TypeResolution {
  readonly #synonyms: ReadonlyMap<TypeName, TypeSynonym>;
  readonly #known = new Map<TypeTerm, MeasuredType>();
  readonly #open = new Set<TypeName>();
  #written = 0;
  #expanded = 0;

  constructor(synonyms: ReadonlyMap<TypeName, TypeSynonym>) {
    this.#synonyms = synonyms;
  }

  /** Returns the type of a term. */
  resolve(term: TypeTerm): DamlType {
    const { type, size } = this.#measured(term);
    this.#written += size;
    if (this.#written > packageLimit) throw new Error(`its types have more than ${packageLimit} parts`);
    return type;
  }

  #measured(term: TypeTerm): MeasuredType {
    const knownType = this.#known.get(term);
    if (knownType !== undefined) return knownType;
    const resolved = this.#make(term);
    this.#known.set(term, resolved);
    return resolved;
  }

  #make(term: TypeTerm): MeasuredType {
    const { head } = term;
    if (head.kind === 'builtin') return this.#builtin(head.code, term);
    if (head.kind === 'synonym') return this.#synonym(head.name, term);
    if (head.kind === 'data') {
      const parts = term.arguments.map((argument) => this.#measured(argument));
      return measureType({ kind: 'named', name: head.name, arguments: parts.map((part) => part.type) }, parts);
    }
    const isVariable = head.kind === 'variable' && term.arguments.length === 0;
    return measureType(isVariable ? { kind: 'variable', name: head.name } : opaqueType, []);
  }

  #builtin(code: number, term: TypeTerm): MeasuredType {
    const [first, secondArgument] = term.arguments;
    const name = builtins[code];
    if (name !== undefined && first === undefined) return measureType({ kind: 'builtin', name }, []);
    if (first === undefined || term.arguments.length > 2) return measureType(opaqueType, []);
    if (code === genmap && secondArgument !== undefined) {
      const [key, valueType] = [this.#measured(first), this.#measured(secondArgument)];
      return measureType({ kind: 'genmap', key: key.type, of: valueType.type }, [key, valueType]);
    }
    if (secondArgument !== undefined) return measureType(opaqueType, []);
    if (code === numeric) {
      const { head } = first;
      return measureType(head.kind === 'natural' ? { kind: 'numeric', scale: head.value } : { kind: 'numeric' }, []);
    }
    const kind = containers[code];
    if (kind === undefined) return measureType(opaqueType, []);
    const elementType = this.#measured(first);
    return measureType({ kind, of: elementType.type }, [elementType]);
  }

  #synonym(name: TypeName, term: TypeTerm): MeasuredType {
    const synonym = this.#synonyms.get(name);
    if (synonym === undefined || synonym.parameters.length !== term.arguments.length)
      return measureType(opaqueType, []);
    if (this.#open.has(name)) throw new Error('a type synonym refers to itself');
    this.#open.add(name);
    const body = this.#measured(synonym.body);
    this.#open.delete(name);
    const parts = term.arguments.map((argument) => this.#measured(argument));
    // A substitution never writes more parts than this product, so nothing that exceeds the limits is ever built.
    this.#expanded += body.size * parts.reduce((largest, part) => Math.max(largest, part.size), 1);
    if (this.#expanded > packageLimit) throw new Error('its type synonyms expand to too large types');
    const bindings = bindParameters(
      synonym.parameters,
      parts.map((part) => part.type),
    );
    return measureAppliedType(substitute(body.type, bindings));
  }
}
