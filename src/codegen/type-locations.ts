/**
 * Locations of data types in the generated file: a namespace for the package, in small letters, and one for each part
 * of the module name. Module parts begin with a capital, so no name on the path hides a package.
 */
import { capital, identifiersOf } from './identifiers.ts';
import type { KnownTypes, TypeKey } from './known-types.ts';

export interface TypePlace {
  readonly namespaces: readonly string[];
  readonly name: string;
}

export class TypePlaces {
  readonly #known: KnownTypes;
  readonly #packages: ReadonlyMap<string, string>;
  /** Identifiers of the parts of module names. */
  readonly #parts: ReadonlyMap<string, string>;
  /** For each package and module, `package:Module.Path`, the names of its types. */
  readonly #types = new Map<string, ReadonlyMap<string, string>>();

  constructor(known: KnownTypes) {
    this.#known = known;
    const names = known.packages.map(({ name }) => name);
    this.#packages = identifiersOf(names, (name) => name.toLowerCase());
    const modules = known.packages.flatMap(({ dataTypes }) => Object.keys(dataTypes).map(moduleOf));
    this.#parts = identifiersOf(new Set(modules.flatMap((name) => name.split('.'))), moduleForm);
  }

  of(key: TypeKey): TypePlace {
    const [packageName = '', moduleName = '', ...name] = key.split(':');
    const modules = moduleName.split('.').map((part) => this.#parts.get(part) ?? part);
    return {
      namespaces: [this.#packages.get(packageName) ?? packageName, ...modules],
      name: this.#typesIn(packageName, moduleName).get(name.join(':')) ?? name.join('_'),
    };
  }

  /** The reference to a type, valid anywhere in the file. */
  path(key: TypeKey): string {
    const { namespaces, name } = this.of(key);
    return [...namespaces, name].join('.');
  }

  #typesIn(packageName: string, moduleName: string): ReadonlyMap<string, string> {
    const moduleKey = `${packageName}:${moduleName}`;
    const found = this.#types.get(moduleKey) ?? identifiersOf(this.#namesIn(packageName, moduleName));
    this.#types.set(moduleKey, found);
    return found;
  }

  #namesIn(packageName: string, moduleName: string): readonly string[] {
    const start = `${moduleName}:`;
    return this.#known
      .versionsOf(packageName)
      .flatMap(({ packageId, dataTypes }) =>
        Object.keys(dataTypes)
          .filter((name) => name.startsWith(start))
          .flatMap((name) => this.#known.keyOf(`${packageId}:${name}`) ?? []),
      )
      .map((key) => key.slice(packageName.length + 1 + start.length));
  }
}

/**
 * Modules of Daml begin with a capital. Other compilers may write a small letter, `_` or `$`, with which package names
 * begin as well.
 */
function moduleForm(part: string): string {
  return /^[A-Za-z]/.test(part) ? capital(part) : `M${part}`;
}

function moduleOf(qualifiedName: string): string {
  return qualifiedName.slice(0, qualifiedName.indexOf(':'));
}
