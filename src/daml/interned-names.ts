/**
 * The tables of names at the end of a package. A table stores a name once, however often it is used. So a small archive
 * could expand to a huge amount of text, and the total is limited.
 */
import type { TypeName } from './package-model.ts';
import { numberField, numberIn, readMessage, bytesField } from './protobuf-message.ts';

/** Maximum number of characters of all names together, counted at each use. */
const nameLengthLimit = 16 * 1024 * 1024;

const identifier = /^[A-Za-z$_][A-Za-z0-9$_]*$/;
const packageId = /^[A-Za-z0-9_ -]{1,64}$/;

/** The tables as stored in the package. */
export interface InternTables {
  readonly strings: readonly string[];
  /** Names with several parts, as indexes into `strings`. */
  readonly dotted: readonly (readonly number[])[];
  /** Ids of imported packages; empty in language versions that do not list them. */
  readonly imports: readonly string[];
}

/** Resolves names. Throws if an index is out of range, a name is invalid, or the total is too long. */
export class InternedNames {
  readonly #tables: InternTables;
  readonly #self: string;
  readonly #paths = new Map<number, string>();
  #spelled = 0;

  /** @param ownPackageId id of the package that has the tables */
  constructor(tables: InternTables, ownPackageId: string) {
    this.#tables = tables;
    this.#self = ownPackageId;
  }

  /** A string of any form. */
  text(index: number): string {
    const internedText = this.#tables.strings[index];
    if (internedText === undefined) throw new Error(`there is no interned string ${index}`);
    this.#spell(internedText.length);
    return internedText;
  }

  /** A single identifier, e.g. the name of a field. */
  identifier(index: number): string {
    const segment = this.text(index);
    if (!identifier.test(segment)) throw new Error(`interned string ${index} is not an identifier`);
    return segment;
  }

  /** Identifiers separated by dots: the name of a module, or of a type within it. */
  path(index: number): string {
    const knownPath = this.#paths.get(index);
    if (knownPath !== undefined) {
      this.#spell(knownPath.length);
      return knownPath;
    }
    const segments = this.#tables.dotted[index];
    if (segments === undefined || segments.length === 0) throw new Error(`there is no interned name ${index}`);
    const dottedPath = segments.map((segment) => this.identifier(segment)).join('.');
    this.#paths.set(index, dottedPath);
    return dottedPath;
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
    let resolvedId: string | undefined;
    readMessage(reference, {
      1: bytesField(() => (resolvedId = this.#self)),
      3: numberField((index) => (resolvedId = this.text(index))),
      4: numberField((index) => (resolvedId = this.#imported(index))),
    });
    if (resolvedId === undefined) throw new Error('a type does not name a package');
    if (!packageId.test(resolvedId)) throw new Error('a type names a package by something that is not a package id');
    return resolvedId;
  }

  #imported(index: number): string {
    const importedId = this.#tables.imports[index];
    if (importedId === undefined) throw new Error(`there is no imported package ${index}`);
    return importedId;
  }

  #spell(length: number): void {
    this.#spelled += length + 1;
    if (this.#spelled > nameLengthLimit) throw new Error(`its names have more than ${nameLengthLimit} characters`);
  }
}
