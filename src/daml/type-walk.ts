/**
 * Helpers for walking types: data types by name across packages, replacement of parameters by arguments, and where to
 * stop in recursive types.
 */
import type { DamlType, DataType, PackageLookup, TypeName } from './package-model.ts';

/** The data type of a name; undefined if its package is unknown, or defines no such type that payloads can hold. */
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

/** The type of each parameter, by parameter name. */
export type TypeBindings = ReadonlyMap<string, DamlType>;

/** Binds parameters to arguments; a parameter without an argument stays as it is. */
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
    return { ...type, arguments: type.arguments.map((each) => substitute(each, bindings)) };
  }
  if (type.kind === 'genmap') {
    return { ...type, key: substitute(type.key, bindings), of: substitute(type.of, bindings) };
  }
  return 'of' in type ? { ...type, of: substitute(type.of, bindings) } : type;
}

/**
 * The type of a field, with the parameters of its data type replaced, as the ledger writes its values in JSON. The
 * ledger writes brackets for an Optional in an Optional only if a type spells both; if the inner one comes from an
 * argument, the value is written like that of the inner one alone.
 */
export function fieldType(type: DamlType, bindings: TypeBindings): DamlType {
  const argument = type.kind === 'optional' && type.of.kind === 'variable' ? bindings.get(type.of.name) : undefined;
  return argument?.kind === 'optional' ? argument : substitute(type, bindings);
}

/** A tuple in a tuple is not a recursion, so data types with parameters may be nested in themselves this often. */
const genericLimit = 3;

/**
 * Whether a data type at this position repeats one around it.
 * @param around names of the data types around it
 */
export function isRepeated(type: Extract<DamlType, { kind: 'named' }>, around: readonly TypeName[]): boolean {
  const limit = type.arguments.length === 0 ? 1 : genericLimit;
  return around.filter((name) => name === type.name).length >= limit;
}
