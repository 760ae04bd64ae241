/** What modules define, as far as readers need it: data types, templates and interfaces. */
import type { InternedNames } from './interned-names.ts';
import type {
  ChoiceModel,
  DamlField,
  DamlType,
  DataType,
  InterfaceModel,
  TemplateModel,
  TypeName,
} from './package-model.ts';
import { bytesField, messagesIn, numberField, numberIn, numbersIn, readMessage } from './protobuf-message.ts';
import { TypeResolution, type TypeSynonym } from './type-resolution.ts';
import type { TypeTerms } from './type-terms.ts';

/** Everything that the modules of a package define. */
export interface Definitions {
  readonly templates: readonly TemplateModel[];
  readonly interfaces: readonly InterfaceModel[];
  /** By `Module.Path:Name`. */
  readonly dataTypes: Readonly<Record<string, DataType>>;
}

interface Context {
  readonly names: InternedNames;
  readonly terms: TypeTerms;
  readonly types: TypeResolution;
}

/**
 * The definitions of all modules.
 * @param self id of the package
 */
export function readDefinitions(
  modules: readonly Uint8Array[],
  names: InternedNames,
  terms: TypeTerms,
  self: string,
): Definitions {
  const types = new TypeResolution(readSynonyms(modules, names, terms, self));
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
      8: bytesField((bytes) => interfaces.push(readInterface(bytes, moduleName, context))),
    });
  }
  return { templates, interfaces, dataTypes: Object.fromEntries(dataTypes) };
}

function readSynonyms(
  modules: readonly Uint8Array[],
  names: InternedNames,
  terms: TypeTerms,
  self: string,
): ReadonlyMap<TypeName, TypeSynonym> {
  const synonyms = new Map<TypeName, TypeSynonym>();
  for (const module of modules) {
    const moduleName = names.path(numberIn(module, 1));
    for (const bytes of messagesIn(module, 3)) {
      const name = `${self}:${moduleName}:${names.path(numberIn(bytes, 2))}`;
      const [body] = messagesIn(bytes, 4);
      if (body === undefined) throw new Error('a type synonym stands for nothing');
      synonyms.set(name, { parameters: readParameters(bytes, names), body: terms.read(body) });
    }
  }
  return synonyms;
}

function readParameters(definition: Uint8Array, names: InternedNames): readonly string[] {
  return messagesIn(definition, 3).map((binder) => names.identifier(numberIn(binder, 3)));
}

/** The type in one field of a message; the language demands that it is there. */
function typeIn(bytes: Uint8Array, field: number, context: Context): DamlType {
  const [found] = messagesIn(bytes, field);
  if (found === undefined) throw new Error('a definition lacks a type');
  return context.types.resolve(context.terms.read(found));
}

function readFields(bytes: Uint8Array, context: Context): readonly DamlField[] {
  return messagesIn(bytes, 1).map((field) => ({
    name: context.names.identifier(numberIn(field, 3)),
    type: typeIn(field, 2, context),
  }));
}

/** Undefined for what payloads cannot hold: interfaces, and types with functions in them. */
function readDataType(bytes: Uint8Array, context: Context): DataType | undefined {
  if (numberIn(bytes, 4) === 0) return undefined;
  const parameters = readParameters(bytes, context.names);
  let found: DataType | undefined;
  readMessage(bytes, {
    5: bytesField((value) => (found = { kind: 'record', parameters, fields: readFields(value, context) })),
    6: bytesField((value) => (found = { kind: 'variant', parameters, cases: readFields(value, context) })),
    7: bytesField((value) => {
      found = { kind: 'enum', cases: numbersIn(value, 2).map((index) => context.names.identifier(index)) };
    }),
  });
  return found;
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

function readInterface(bytes: Uint8Array, moduleName: string, context: Context): InterfaceModel {
  return {
    moduleName,
    entityName: context.names.path(numberIn(bytes, 2)),
    choices: messagesIn(bytes, 5).map((choice) => readChoice(choice, context)),
    view: typeIn(bytes, 6, context),
    requires: messagesIn(bytes, 7).map((name) => context.names.typeName(name)),
  };
}
