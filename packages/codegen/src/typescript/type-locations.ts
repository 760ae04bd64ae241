/**
 * Locations of data types in the generated file: a namespace for the package, in small letters, and within it one for
 * each part of the module name. Module parts begin with a capital letter, so no name on the path hides a package.
 */
import { capitalize, identifiersOf } from './identifiers.ts';
import type { KnownTypes, TypeKey } from './known-types.ts';

export interface TypeLocation {
  readonly namespaces: readonly string[];
  readonly name: string;
}

export class TypeLocations {
  readonly #known: KnownTypes;
  readonly #packages: ReadonlyMap<string, string>;
  /** Identifiers of the parts of module names. */
  readonly #parts: ReadonlyMap<string, string>;
  /** Identifiers of the types in each module. The key is the package and the module, `package:Module.Path`. */
  readonly #types = new Map<string, ReadonlyMap<string, string>>();

  constructor(knownTypes: KnownTypes) {
    this.#known = knownTypes;
    const names = knownTypes.packages.map(({ name }) => name);
    this.#packages = identifiersOf(names, (name) => name.toLowerCase());
    const modules = knownTypes.packages.flatMap(({ dataTypes }) => Object.keys(dataTypes).map(moduleOf));
    this.#parts = identifiersOf(new Set(modules.flatMap((name) => name.split('.'))), moduleForm);
  }

  of(key: TypeKey): TypeLocation {
    const [packageName = '', moduleName = '', ...name] = key.split(':');
    const modules = moduleName.split('.').map((segment) => this.#parts.get(segment) ?? segment);
    return {
      namespaces: [this.#packages.get(packageName) ?? packageName, ...modules],
      name: this.#typesIn(packageName, moduleName).get(name.join(':')) ?? name.join('_'),
    };
  }

  /** The reference to a type. It is valid anywhere in the file. */
  path(key: TypeKey): string {
    const { namespaces, name } = this.of(key);
    return [...namespaces, name].join('.');
  }

  #typesIn(packageName: string, moduleName: string): ReadonlyMap<string, string> {
    const moduleKey = `${packageName}:${moduleName}`;
    const identifiers = this.#types.get(moduleKey) ?? identifiersOf(this.#namesIn(packageName, moduleName));
    this.#types.set(moduleKey, identifiers);
    return identifiers;
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
 * The first character as a capital letter. Daml modules begin with one, but other compilers may use a small letter, `_`
 * or `$`, with which package names also begin.
 */
function moduleForm(segment: string): string {
  return /^[A-Za-z]/.test(segment) ? capitalize(segment) : `M${segment}`;
}

function moduleOf(qualifiedName: string): string {
  return qualifiedName.slice(0, qualifiedName.indexOf(':'));
}
