/** Finding data types across packages. */
import type { DataType, PackageModel, TypeName } from './package-model.ts';

/** The package with an id; undefined when it is not known. */
export type PackageLookup = (packageId: string) => PackageModel | undefined;

/** The data type with a name; undefined when its package is not known, or defines no such type that payloads can hold. */
export function findDataType(name: TypeName, packages: PackageLookup): DataType | undefined {
  const end = name.indexOf(':');
  const found = packages(name.slice(0, end));
  const key = name.slice(end + 1);
  return found !== undefined && Object.hasOwn(found.dataTypes, key) ? found.dataTypes[key] : undefined;
}

/** `Module.Path:Name` of a type, which is the same in every version of its package. */
export function qualifiedName(name: TypeName): string {
  return name.slice(name.indexOf(':') + 1);
}
