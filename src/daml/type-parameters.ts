/** Putting arguments in the place of type parameters. */
import type { DamlType } from './package-model.ts';

/** What stands for each parameter, by the parameter's name. */
export type TypeBindings = ReadonlyMap<string, DamlType>;

/** Parameters and arguments in pairs; a parameter without an argument stays as it is. */
export function bindParameters(parameters: readonly string[], args: readonly DamlType[]): TypeBindings {
  const bindings = new Map<string, DamlType>();
  for (const [index, parameter] of parameters.entries()) {
    const argument = args[index];
    if (argument !== undefined) bindings.set(parameter, argument);
  }
  return bindings;
}

/** The type with its parameters replaced. A parameter of which nothing is known stays. */
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
 * The type of a field, with the parameters of its data type replaced, as the ledger writes its values in JSON. It writes
 * brackets for an Optional in an Optional only where a type spells both; when the inner one comes from an argument, the
 * value is written like that of the inner one alone.
 */
export function fieldType(type: DamlType, bindings: TypeBindings): DamlType {
  const argument = type.kind === 'optional' && type.of.kind === 'variable' ? bindings.get(type.of.name) : undefined;
  return argument?.kind === 'optional' ? argument : substitute(type, bindings);
}
