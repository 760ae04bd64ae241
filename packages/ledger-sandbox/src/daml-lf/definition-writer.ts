/** Writes the contents of a module: data types, templates and interfaces. */
import type { ChoiceDeclaration, Choices, Definition, Fields } from './declaration.ts';
import { choiceOf, message } from './message.ts';
import type { Field } from './message.ts';
import type { Lookup, Tables } from './tables.ts';
import { readType } from './type-notation.ts';
import type { TypeTree } from './type-notation.ts';

/** Field numbers of the kinds of definitions in the message of a module. */
const section = { dataType: 4, template: 6, interface: 8 } as const;

/** The choice that archives a contract. The type of its argument is in the standard library. */
const archive = { argument: 'DA.Internal.Template:Archive', gives: '()', consuming: true } as const;

const parties = '[Party]';

/** Number of the built-in function that fails with a message. */
const stop = 1;

type Template = Extract<Definition, { readonly kind: 'template' }>;
type Interface = Extract<Definition, { readonly kind: 'interface' }>;

export class DefinitionWriter {
  readonly #tables: Tables;
  readonly #lookup: Lookup;

  constructor(tables: Tables, lookup: Lookup) {
    this.#tables = tables;
    this.#lookup = lookup;
  }

  /** The fields that a definition adds to the message of its module. */
  write(entity: string, definition: Definition): readonly Field[] {
    if (definition.kind === 'record') return [this.#record(entity, definition.fields, definition.parameters)];
    if (definition.kind === 'variant') return this.#variant(entity, definition.cases);
    if (definition.kind === 'enum') {
      const cases = definition.cases.map((name) => this.#tables.text(name));
      return [[section.dataType, this.#dataType(entity, [7, message([2, cases])])]];
    }
    const [data, kind, content] =
      definition.kind === 'template'
        ? ([this.#record(entity, definition.fields), section.template, this.#template(entity, definition)] as const)
        : ([this.#interfaceType(entity), section.interface, this.#interface(entity, definition)] as const);
    return [data, ...this.#arguments(definition.choices), [kind, content]];
  }

  #type(source: string): Uint8Array {
    return this.#tables.type(readType(source), this.#lookup);
  }

  #dataType(entity: string, content: Field, parameters: readonly string[] = []): Uint8Array {
    const binders = parameters.map((name): Field => [3, message([3, this.#tables.text(name)], [2, star])]);
    return message([2, this.#tables.name(entity)], ...binders, [4, 1], content);
  }

  #fields(fields: Fields): Uint8Array {
    return message(
      ...Object.entries(fields).map(([name, type]): Field => {
        return [1, message([3, this.#tables.text(name)], [2, this.#type(type)])];
      }),
    );
  }

  #record(entity: string, fields: Fields, parameters?: readonly string[]): Field {
    return [section.dataType, this.#dataType(entity, [5, this.#fields(fields)], parameters)];
  }

  /** A variant. A case with fields has the record `Variant.Case`. */
  #variant(entity: string, cases: Readonly<Record<string, string | Fields>>): readonly Field[] {
    const records: Field[] = [];
    const caseFields = Object.entries(cases).map(([name, type]): Field => {
      let caseType: Uint8Array;
      if (typeof type === 'string') {
        caseType = this.#type(type);
      } else {
        records.push(this.#record(`${entity}.${name}`, type));
        const location = { ...this.#lookup(entity), entity: `${entity}.${name}` };
        const tree: TypeTree = { kind: 'named', name: entity, arguments: [] };
        caseType = this.#tables.type(tree, () => location);
      }
      return [1, message([3, this.#tables.text(name)], [2, caseType])];
    });
    return [...records, [section.dataType, this.#dataType(entity, [6, message(...caseFields)])]];
  }

  /** The records of the arguments of the choices. */
  #arguments(choices: Choices): readonly Field[] {
    return Object.entries(choices).map(([name, { takes: parameters }]) => this.#record(name, parameters));
  }

  #choices(choices: Choices): readonly Uint8Array[] {
    const choiceDefinitions = Object.entries(choices).map(([name, choice]) =>
      this.#choice(name, { ...choice, argument: name }),
    );
    return [this.#choice('Archive', archive), ...choiceDefinitions];
  }

  #choice(
    name: string,
    { argument, gives, consuming }: Omit<ChoiceDeclaration, 'takes'> & { readonly argument: string },
  ): Uint8Array {
    const binder = message([2, this.#type(argument)], [3, this.#tables.text('arg')]);
    const result = this.#type(gives);
    const update = message([23, message([1, message([1, result], [2, this.#stopped(gives)])])]);
    return message(
      [2, this.#tables.text(name)],
      [3, consuming ? 1 : 0],
      [4, this.#stopped(parties)],
      [5, this.#stopped(parties)],
      [6, binder],
      [8, result],
      [9, update],
      [10, this.#tables.text('self')],
    );
  }

  #template(entity: string, definition: Template): Uint8Array {
    return message(
      [1, this.#tables.name(entity)],
      [2, this.#tables.text('this')],
      [3, this.#stopped('Bool')],
      [4, this.#stopped(parties)],
      ...this.#choices(definition.choices).map((choice): Field => [6, choice]),
      [7, this.#stopped(parties)],
      ...definition.implements.map((name): Field => [10, this.#implementation(name)]),
    );
  }

  #implementation(name: string): Uint8Array {
    const location = this.#lookup(name);
    if (location.view === undefined) throw new Error(`${name} is implemented, but is not an interface`);
    const view = this.#stopped(`${location.module}:${location.view}`);
    return message([1, this.#tables.typeName(location)], [2, message([2, view])]);
  }

  /** The type of contract ids of an interface. */
  #interfaceType(entity: string): Field {
    return [section.dataType, message([2, this.#tables.name(entity)], [8, message()])];
  }

  #interface(entity: string, { view, choices }: Interface): Uint8Array {
    return message(
      [2, this.#tables.name(entity)],
      [4, this.#tables.text('this')],
      ...this.#choices(choices).map((choice): Field => [5, choice]),
      [6, this.#type(view)],
    );
  }

  /** An expression of a type: the function that fails, applied to the type and a message. */
  #stopped(type: string): Uint8Array {
    const typeApplication = message([16, message([1, choiceOf(4, stop)], [2, this.#type(type)])]);
    const text = message([6, choiceOf(4, this.#tables.text('the sandbox does not run the code of packages'))]);
    return message([15, message([1, typeApplication], [2, text])]);
  }
}

/** The kind of type parameters. */
const star = message([1, message()]);
