/**
 * Data types of all known packages, by package name. Versions that upgrade each other are one type here, just as they
 * are one view in SQL. Pure.
 */
import type {
  DamlField,
  DamlType,
  DataType,
  PackageLookup,
  PackageModel,
  TypeFunctions,
  TypeName,
} from 'ledger-indexer/codegen';

/**
 * `package-name:Module.Path:Name`, the same for all versions. If versions have a different number of type parameters
 * than the newest one, their number is appended, e.g. `:1`. A reference passes an argument for each parameter, so it
 * means only the versions with that number.
 */
export type TypeKey = string;

/** One version of a data type. */
export interface TypeVersion {
  readonly definition: DataType;
  /**
   * For a record, the number of fields that exist in every version that this one upgrades. For other types, the number
   * of all cases or fields.
   */
  readonly lasting: number;
}

export class KnownTypes {
  /** Packages, ordered by name and then by version. */
  readonly packages: readonly PackageModel[];
  readonly functions: TypeFunctions;
  readonly #byId: ReadonlyMap<string, PackageModel>;
  readonly #byName = new Map<string, PackageModel[]>();

  /** @param models packages in any order; duplicates count once */
  constructor(models: readonly PackageModel[], functions: TypeFunctions) {
    this.functions = functions;
    this.#byId = new Map(models.map((model) => [model.packageId, model]));
    this.packages = [...this.#byId.values()].sort(functions.byNameAndVersion);
    for (const model of this.packages) {
      const versions = this.#byName.get(model.name) ?? [];
      versions.push(model);
      this.#byName.set(model.name, versions);
    }
  }

  readonly lookup: PackageLookup = (packageId) => this.#byId.get(packageId);

  /** All versions of a package, oldest first. */
  versionsOf(packageName: string): readonly PackageModel[] {
    return this.#byName.get(packageName) ?? [];
  }

  /** The key of a data type that a payload can hold; undefined if its package is unknown or has no such type. */
  keyOf(name: TypeName): TypeKey | undefined {
    const { findDataType, qualifiedName } = this.functions;
    const definition = findDataType(name, this.lookup);
    const packageModel = this.#byId.get(name.slice(0, name.indexOf(':')));
    if (packageModel === undefined || definition === undefined) return undefined;
    const key = `${packageModel.name}:${qualifiedName(name)}`;
    const count = countOf(definition);
    const [newest = definition] = this.#versionsOfType(packageModel.name, qualifiedName(name));
    return count === countOf(newest) ? key : `${key}:${String(count)}`;
  }

  /** A data type in all versions of its package that define it, newest first. */
  #versionsOfType(packageName: string, name: string): readonly DataType[] {
    return this.versionsOf(packageName)
      .toReversed()
      .flatMap(({ dataTypes }) => (Object.hasOwn(dataTypes, name) ? (dataTypes[name] ?? []) : []));
  }

  /**
   * The definitions that values of a type may have. It is one definition if a version upgrades all others, as the
   * ledger requires. There are several, newest first, if a package has different content under the same name.
   */
  definitionsOf(key: TypeKey): readonly TypeVersion[] {
    const [packageName = '', moduleName = '', name = '', number] = key.split(':');
    const versions = this.#versionsOfType(packageName, `${moduleName}:${name}`);
    const count = number === undefined ? countOf(versions[0]) : Number(number);
    const keptVersions: TypeVersion[] = [];
    for (const definition of versions.filter((candidate) => countOf(candidate) === count)) {
      const newerIndex = keptVersions.findIndex((keptVersion) => this.#isUpgrade(definition, keptVersion.definition));
      const lastingCount = sizeOf(definition);
      if (newerIndex < 0) keptVersions.push({ definition, lasting: lastingCount });
      else
        keptVersions[newerIndex] = {
          ...(keptVersions[newerIndex] as TypeVersion),
          lasting: Math.min(keptVersions[newerIndex]?.lasting ?? lastingCount, lastingCount),
        };
    }
    return keptVersions;
  }

  /** Whether every value of the older type is also a value of the newer one. */
  #isUpgrade(older: DataType, newer: DataType): boolean {
    if (older.kind === 'enum')
      return newer.kind === 'enum' && older.cases.every((caseName, index) => newer.cases[index] === caseName);
    if (newer.kind === 'enum' || newer.kind !== older.kind) return false;
    const [before, after] = [membersOf(older), membersOf(newer)];
    const isPrefix = before.every((member, index) => {
      const newerMember = after[index];
      return newerMember?.name === member.name && this.#textOf(member, older) === this.#textOf(newerMember, newer);
    });
    const addedMembers = after.slice(before.length);
    return isPrefix && (newer.kind === 'variant' || addedMembers.every(({ type }) => type.kind === 'optional'));
  }

  /**
   * The type of a field or case as text, with package names instead of package ids, and with positions of parameters
   * instead of their names.
   */
  #textOf({ type }: DamlField, { parameters }: { readonly parameters: readonly string[] }): string {
    return JSON.stringify(this.#withPositionalNames(type, parameters), (key, value: unknown) =>
      key === 'name' && typeof value === 'string' && value.includes(':') ? (this.keyOf(value) ?? value) : value,
    );
  }

  #withPositionalNames(type: DamlType, parameters: readonly string[]): DamlType {
    const variables = parameters.map((name, index) => [name, { kind: 'variable', name: String(index) }] as const);
    return this.functions.substitute(type, new Map(variables));
  }
}

function countOf(definition: DataType | undefined): number {
  return definition === undefined ? 0 : parametersOf(definition).length;
}

/** Names of the type parameters, in order. */
export function parametersOf(definition: DataType): readonly string[] {
  return definition.kind === 'enum' ? [] : definition.parameters;
}

/** The fields of a record, or the cases of a variant. */
export function membersOf(definition: Exclude<DataType, { kind: 'enum' }>): readonly DamlField[] {
  return definition.kind === 'record' ? definition.fields : definition.cases;
}

function sizeOf(definition: DataType): number {
  return definition.kind === 'enum' ? definition.cases.length : membersOf(definition).length;
}
