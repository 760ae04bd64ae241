/**
 * Records as TypeScript types. The ledger omits trailing fields of a record if they are None. If a field has a generic
 * type, such as `_2` of `(Text, Optional Int)`, this depends on the type arguments. These may depend on the arguments
 * of the surrounding type. So the condition is expressed with the type parameters, and the compiler evaluates it. Pure.
 */
import type { DamlField, DamlType } from 'ledger-indexer/codegen';
import { keyText } from './identifiers.ts';

export interface FieldWithText extends DamlField {
  /** Type of the field in TypeScript. */
  readonly text: string;
}

/** When a field can be omitted: undefined means never; otherwise if all of these type parameters are Optionals. */
type OptionalParameters = readonly string[] | undefined;

/**
 * @param lastingCount number of fields that exist in every version that this one upgrades; later fields can be missing
 * regardless of their type
 * @param parameters TypeScript names of the parameters, by their names in Daml
 */
export function recordText(
  fields: readonly FieldWithText[],
  lastingCount: number,
  parameters: ReadonlyMap<string, string>,
): string {
  if (fields.length === 0) return 'daml.Unit';
  const optionalParameters = optionalParametersOf(
    fields.slice(0, lastingCount).map(({ type }) => type),
    parameters,
  );
  const blocks = new Map<string, string[]>();
  for (const [index, { name, text }] of fields.entries()) {
    const parameterNames = index < lastingCount ? optionalParameters[index] : [];
    const types = (parameterNames ?? []).join(', ');
    const block = blocks.get(types) ?? [];
    blocks.set(types, [...block, `readonly ${keyText(name)}${parameterNames?.length === 0 ? '?' : ''}: ${text};`]);
  }
  return [...blocks]
    .map(([types, lines]) => {
      const block = ['{', ...lines.map((line) => `  ${line}`), '}'].join('\n');
      return types === '' ? block : `daml.Last<[${types}], ${block}>`;
    })
    .join(' & ');
}

/**
 * For each field, when it can be omitted. Searches backward from the last field to one that is always written. None of
 * an Optional in an Optional is always written, as `[]`.
 */
function optionalParametersOf(
  types: readonly DamlType[],
  parameters: ReadonlyMap<string, string>,
): readonly OptionalParameters[] {
  const results: OptionalParameters[] = types.map(() => undefined);
  let requiredNames: readonly string[] = [];
  for (let index = types.length - 1; index >= 0; index -= 1) {
    const type = types[index];
    const parameter = type?.kind === 'variable' ? parameters.get(type.name) : undefined;
    if (parameter !== undefined) requiredNames = [...new Set([parameter, ...requiredNames])];
    else if (type?.kind !== 'optional' || type.of.kind === 'optional') break;
    results[index] = requiredNames;
  }
  return results;
}
