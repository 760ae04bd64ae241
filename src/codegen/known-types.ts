/**
 * Data types of all known packages by the name of their package: versions that upgrade each other are one type, as
 * they are one view in SQL. Pure.
 */
import type { DamlField, DamlType, DataType, PackageLookup, PackageModel, TypeName } from '../daml/package-model.ts';
import { byNameAndVersion } from '../daml/package-order.ts';
import { findDataType, qualifiedName } from '../daml/type-walk.ts';

/** `package-name:Module.Path:Name`, the same for all versions. */
export type TypeKey = string;

/** One version of a data type. */
export interface TypeVersion {
  readonly definition: DataType;
  /** Of a record: fields that every version has which this one upgrades; all cases or fields of any other. */
  readonly lasting: number;
}

export class KnownTypes {
  /** By name, the versions of each in their order. */
  readonly packages: readonly PackageModel[];
  readonly #byId: ReadonlyMap<string, PackageModel>;
  readonly #byName = new Map<string, PackageModel[]>();

  /** @param models in any order; one that is given twice counts once */
  constructor(models: readonly PackageModel[]) {
    this.#byId = new Map(models.map((model) => [model.packageId, model]));
    this.packages = [...this.#byId.values()].sort(byNameAndVersion);
    for (const model of this.packages) {
      const versions = this.#byName.get(model.name) ?? [];
      versions.push(model);
      this.#byName.set(model.name, versions);
    }
  }

  readonly lookup: PackageLookup = (packageId) => this.#byId.get(packageId);

  /** All versions of a package, the oldest first. */
  versionsOf(packageName: string): readonly PackageModel[] {
    return this.#byName.get(packageName) ?? [];
  }

  /** The key of a data type that a payload can hold; undefined when its package is not known, or has no such type. */
  keyOf(name: TypeName): TypeKey | undefined {
    if (findDataType(name, this.lookup) === undefined) return undefined;
    const found = this.#byId.get(name.slice(0, name.indexOf(':')));
    return found === undefined ? undefined : `${found.name}:${qualifiedName(name)}`;
  }

  /**
   * What values of a type may look like: one version where all others are earlier ones of it, as the ledger demands of upgrades;
   * several, the newest first, where a package has another content under the same name.
   */
  definitionsOf(key: TypeKey): readonly TypeVersion[] {
    const at = key.indexOf(':');
    const name = key.slice(at + 1);
    const kept: TypeVersion[] = [];
    for (const model of this.versionsOf(key.slice(0, at)).toReversed()) {
      const definition = Object.hasOwn(model.dataTypes, name) ? model.dataTypes[name] : undefined;
      if (definition === undefined) continue;
      const newer = kept.findIndex((each) => this.#isUpgrade(definition, each.definition));
      const lasting = sizeOf(definition);
      if (newer < 0) kept.push({ definition, lasting });
      else
        kept[newer] = { ...(kept[newer] as TypeVersion), lasting: Math.min(kept[newer]?.lasting ?? lasting, lasting) };
    }
    return kept;
  }

  /** Whether each value of the one is a value of the other. */
  #isUpgrade(older: DataType, newer: DataType): boolean {
    if (older.kind === 'enum')
      return newer.kind === 'enum' && older.cases.every((each, at) => newer.cases[at] === each);
    if (newer.kind === 'enum' || newer.kind !== older.kind) return false;
    if (older.parameters.join() !== newer.parameters.join()) return false;
    const [before, after] = [partsOf(older), partsOf(newer)];
    const begins = before.every((part, at) => this.#isSamePart(part, after[at]));
    const added = after.slice(before.length);
    return begins && (newer.kind === 'variant' || added.every(({ type }) => type.kind === 'optional'));
  }

  #isSamePart(one: DamlField, other: DamlField | undefined): boolean {
    return other !== undefined && one.name === other.name && this.#sameText(one.type) === this.#sameText(other.type);
  }

  /** The type with names of packages in the place of their ids. */
  #sameText(type: DamlType): string {
    return JSON.stringify(type, (key, value: unknown) =>
      key === 'name' && typeof value === 'string' && value.includes(':') ? (this.keyOf(value) ?? value) : value,
    );
  }
}

/** The fields of a record, or the cases of a variant. */
export function partsOf(definition: Exclude<DataType, { kind: 'enum' }>): readonly DamlField[] {
  return definition.kind === 'record' ? definition.fields : definition.cases;
}

function sizeOf(definition: DataType): number {
  return definition.kind === 'enum' ? definition.cases.length : partsOf(definition).length;
}
