/**
 * Helpers for traversing types: finding data types by name across packages, replacing parameters by arguments, and
 * stopping in recursive types.
 */
import type { DamlType, DataType, PackageLookup, TypeName } from './package-model.ts';

/**
 * The data type with this name; undefined if its package is unknown, or if the package has no such type that payloads
 * can have.
 */
export function findDataType(name: TypeName, packages: PackageLookup): DataType | undefined {
  const end = name.indexOf(':');
  const packageModel = packages(name.slice(0, end));
  const key = name.slice(end + 1);
  return packageModel !== undefined && Object.hasOwn(packageModel.dataTypes, key)
    ? packageModel.dataTypes[key]
    : undefined;
}

/** `Module.Path:Name` of a type, the same in every version of its package. */
export function qualifiedName(name: TypeName): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The type of each parameter, by parameter name. */
export type TypeBindings = ReadonlyMap<string, DamlType>;

/** Binds parameters to arguments. A parameter without an argument stays unbound. */
export function bindParameters(parameters: readonly string[], args: readonly DamlType[]): TypeBindings {
  const bindings = new Map<string, DamlType>();
  for (const [index, parameter] of parameters.entries()) {
    const argument = args[index];
    if (argument !== undefined) bindings.set(parameter, argument);
  }
  return bindings;
}

/** The type with its parameters replaced. A parameter without a binding stays. */
export function substitute(type: DamlType, bindings: TypeBindings): DamlType {
  if (bindings.size === 0) return type;
  if (type.kind === 'variable') return bindings.get(type.name) ?? type;
  if (type.kind === 'named') {
    return { ...type, arguments: type.arguments.map((argument) => substitute(argument, bindings)) };
  }
  if (type.kind === 'genmap') {
    return { ...type, key: substitute(type.key, bindings), of: substitute(type.of, bindings) };
  }
  return 'of' in type ? { ...type, of: substitute(type.of, bindings) } : type;
}

/**
 * The type of a field as the ledger writes its values in JSON, with the parameters of its data type replaced. The
 * ledger writes brackets for an Optional in an Optional only if the type of the field names both. If the inner Optional
 * comes from an argument, the value is written like that of a single Optional.
 */
export function fieldType(type: DamlType, bindings: TypeBindings): DamlType {
  const argument = type.kind === 'optional' && type.of.kind === 'variable' ? bindings.get(type.of.name) : undefined;
  return argument?.kind === 'optional' ? argument : substitute(type, bindings);
}

/** How often a data type with parameters may be nested in itself: a tuple in a tuple is not a recursion. */
const maxGenericNesting = 3;

/**
 * Whether a data type repeats one that surrounds it.
 * @param enclosingTypes names of the surrounding data types
 */
export function isRepeated(type: Extract<DamlType, { kind: 'named' }>, enclosingTypes: readonly TypeName[]): boolean {
  const limit = type.arguments.length === 0 ? 1 : maxGenericNesting;
  return enclosingTypes.filter((name) => name === type.name).length >= limit;
}
