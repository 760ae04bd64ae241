/**
 * The tables of names at the end of a package. A table stores a name once, however often it is used. So a small archive
 * could expand to a huge amount of text, and the total is limited.
 */
import type { TypeName } from './package-model.ts';
import { numberField, numberIn, readMessage, bytesField } from './protobuf-message.ts';

/** Maximum number of characters of all names together, counted at each use. */
const spelledLimit = 16 * 1024 * 1024;

const identifier = /^[A-Za-z$_][A-Za-z0-9$_]*$/;
const packageId = /^[A-Za-z0-9_ -]{1,64}$/;

/** The tables as stored in the package. */
export interface NameTables {
  readonly strings: readonly string[];
  /** Names with several parts, as indexes into `strings`. */
  readonly dotted: readonly (readonly number[])[];
  /** Ids of imported packages; empty in language versions that do not list them. */
  readonly imports: readonly string[];
}

/** Resolves names. Throws if an index is out of range, a name is invalid, or the total is too long. */
export class InternedNames {
  readonly #tables: NameTables;
  readonly #self: string;
  readonly #paths = new Map<number, string>();
  #spelled = 0;

  /** @param self id of the package that has the tables */
  constructor(tables: NameTables, self: string) {
    this.#tables = tables;
    this.#self = self;
  }

  /** A string of any form. */
  text(index: number): string {
    const found = this.#tables.strings[index];
    if (found === undefined) throw new Error(`there is no interned string ${index}`);
    this.#spell(found.length);
    return found;
  }

  /** A single identifier, e.g. the name of a field. */
  identifier(index: number): string {
    const found = this.text(index);
    if (!identifier.test(found)) throw new Error(`interned string ${index} is not an identifier`);
    return found;
  }

  /** Identifiers separated by dots: the name of a module, or of a type within it. */
  path(index: number): string {
    const known = this.#paths.get(index);
    if (known !== undefined) {
      this.#spell(known.length);
      return known;
    }
    const segments = this.#tables.dotted[index];
    if (segments === undefined || segments.length === 0) throw new Error(`there is no interned name ${index}`);
    const spelled = segments.map((segment) => this.identifier(segment)).join('.');
    this.#paths.set(index, spelled);
    return spelled;
  }

  /** Reads a TypeConId or TypeSynId message, and returns the name of the type with its package. */
  typeName(bytes: Uint8Array): TypeName {
    let module: Uint8Array = new Uint8Array();
    readMessage(bytes, { 1: bytesField((value) => (module = value)) });
    let packageReference: Uint8Array = new Uint8Array();
    readMessage(module, { 1: bytesField((value) => (packageReference = value)) });
    const modulePath = this.path(numberIn(module, 2));
    return `${this.#packageOf(packageReference)}:${modulePath}:${this.path(numberIn(bytes, 2))}`;
  }

  #packageOf(reference: Uint8Array): string {
    let found: string | undefined;
    readMessage(reference, {
      1: bytesField(() => (found = this.#self)),
      3: numberField((index) => (found = this.text(index))),
      4: numberField((index) => (found = this.#imported(index))),
    });
    if (found === undefined) throw new Error('a type does not name a package');
    if (!packageId.test(found)) throw new Error('a type names a package by something that is not a package id');
    return found;
  }

  #imported(index: number): string {
    const found = this.#tables.imports[index];
    if (found === undefined) throw new Error(`there is no imported package ${index}`);
    return found;
  }

  #spell(length: number): void {
    this.#spelled += length + 1;
    if (this.#spelled > spelledLimit) throw new Error(`its names have more than ${spelledLimit} characters`);
  }
}
