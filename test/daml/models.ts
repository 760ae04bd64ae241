/** Package models written by hand. */
import type { DamlField, DamlType, PackageLookup, PackageModel } from '../../src/daml/package-model.ts';

/** Short constructors of types. */
export const type = {
  text: { kind: 'builtin', name: 'text' },
  int64: { kind: 'builtin', name: 'int64' },
  party: { kind: 'builtin', name: 'party' },
  bool: { kind: 'builtin', name: 'bool' },
  unit: { kind: 'builtin', name: 'unit' },
  optional: (innerType: DamlType): DamlType => ({ kind: 'optional', of: innerType }),
  list: (innerType: DamlType): DamlType => ({ kind: 'list', of: innerType }),
  variable: (name: string): DamlType => ({ kind: 'variable', name }),
  named: (name: string, ...args: readonly DamlType[]): DamlType => ({ kind: 'named', name, arguments: args }),
} as const;

/** A package with the id `p`. */
export function modelOf(dataTypes: PackageModel['dataTypes']): PackageModel {
  return {
    packageId: 'p',
    name: 'package',
    version: '1.0.0',
    languageVersion: '2.1',
    templates: [],
    interfaces: [],
    dataTypes,
    dependencies: [],
  };
}

/** Resolves only these packages. */
export function lookup(...models: readonly PackageModel[]): PackageLookup {
  return (packageId) => models.find((model) => model.packageId === packageId);
}

/** Fields of a record, or cases of a variant, by type name. */
export function fieldsOf(model: PackageModel, name: string): readonly (readonly [string, DamlType])[] {
  const dataType = model.dataTypes[name];
  const fields: readonly DamlField[] =
    dataType?.kind === 'record' ? dataType.fields : dataType?.kind === 'variant' ? dataType.cases : [];
  return fields.map((field) => [field.name, field.type]);
}
