/** The tables of a package. They contain every name and every type once. All references to them are numbers. */
import { choiceOf, message, signedChoiceOf } from './message.ts';
import type { Field } from './message.ts';
import type { TypeTree } from './type-notation.ts';

/** The package, module and name of a definition. Names of the package itself have no package id. */
export interface TablePosition {
  readonly packageId: string | undefined;
  readonly module: string;
  readonly entity: string;
  /** Type of the view, in the same module, if the name is that of an interface. */
  readonly view?: string;
}

/** Finds the entity that a type names. Throws if the name is unknown or ambiguous. */
export type Lookup = (name: string) => TablePosition;

class Table<T> {
  readonly #indexes = new Map<string, number>();
  readonly entries: T[] = [];

  index(key: string, make: () => T): number {
    const knownIndex = this.#indexes.get(key);
    if (knownIndex !== undefined) return knownIndex;
    // Created first, so that the entries to which it refers precede it.
    const entry = make();
    const index = this.entries.push(entry) - 1;
    this.#indexes.set(key, index);
    return index;
  }
}

export class Tables {
  readonly #strings = new Table<string>();
  readonly #names = new Table<readonly number[]>();
  readonly #types = new Table<Uint8Array>();

  /** The number of a text in the table. */
  text(text: string): number {
    return this.#strings.index(text, () => text);
  }

  /** The number of a dotted name in the table. */
  name(dottedName: string): number {
    return this.#names.index(dottedName, () => dottedName.split('.').map((segment) => this.text(segment)));
  }

  /** The message that names a type or an interface. */
  typeName({ packageId, module, entity }: TablePosition): Uint8Array {
    const from = packageId === undefined ? message([1, message()]) : choiceOf(3, this.text(packageId));
    return message([1, message([1, from], [2, this.name(module)])], [2, this.name(entity)]);
  }

  /** The message that refers to a type. */
  type(tree: TypeTree, lookup: Lookup): Uint8Array {
    const bytes = this.#written(tree, lookup);
    return choiceOf(
      8,
      this.#types.index(Buffer.from(bytes).toString('latin1'), () => bytes),
    );
  }

  /** The tables as fields of the package message, in ascending order of their numbers. */
  fields(): readonly Field[] {
    return [
      ...this.#strings.entries.map((text): Field => [2, text]),
      ...this.#names.entries.map((segments): Field => [3, message([1, segments])]),
      ...this.#types.entries.map((type): Field => [5, type]),
    ];
  }

  #written(tree: TypeTree, lookup: Lookup): Uint8Array {
    if (tree.kind === 'variable') return message([1, message([3, this.text(tree.name)])]);
    if (tree.kind === 'natural') return signedChoiceOf(6, tree.value);
    const args = tree.arguments.map((argument): Field => [2, this.type(argument, lookup)]);
    if (tree.kind === 'builtin') return message([3, message([1, tree.code], ...args)]);
    return message([2, message([1, this.typeName(lookup(tree.name))], ...args)]);
  }
}
