/**
 * Records as TypeScript types. The ledger omits trailing fields of a record if they are None. If a field has a generic
 * type, such as `_2` of `(Text, Optional Int)`, this depends on the type arguments. These may depend on the arguments
 * of the surrounding type. So the condition is expressed with the type parameters, and the compiler evaluates it. Pure.
 */
import type { DamlField, DamlType } from '../daml/package-model.ts';
import { keyText } from './identifiers.ts';

export interface WrittenField extends DamlField {
  /** Type of the field in TypeScript. */
  readonly text: string;
}

/** When a field can be omitted: undefined means never; otherwise if all of these type parameters are Optionals. */
type MayLack = readonly string[] | undefined;

/**
 * @param lasting number of fields that exist in every version that this one upgrades; later fields can be missing
 * regardless of their type
 * @param parameters TypeScript names of the parameters, by their names in Daml
 */
export function recordText(
  fields: readonly WrittenField[],
  lasting: number,
  parameters: ReadonlyMap<string, string>,
): string {
  if (fields.length === 0) return 'daml.Unit';
  const lacking = lackingOf(
    fields.slice(0, lasting).map(({ type }) => type),
    parameters,
  );
  const blocks = new Map<string, string[]>();
  for (const [at, { name, text }] of fields.entries()) {
    const mayLack = at < lasting ? lacking[at] : [];
    const types = (mayLack ?? []).join(', ');
    const block = blocks.get(types) ?? [];
    blocks.set(types, [...block, `readonly ${keyText(name)}${mayLack?.length === 0 ? '?' : ''}: ${text};`]);
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
function lackingOf(types: readonly DamlType[], parameters: ReadonlyMap<string, string>): readonly MayLack[] {
  const found: MayLack[] = types.map(() => undefined);
  let needed: readonly string[] = [];
  for (let at = types.length - 1; at >= 0; at -= 1) {
    const type = types[at];
    const parameter = type?.kind === 'variable' ? parameters.get(type.name) : undefined;
    if (parameter !== undefined) needed = [...new Set([parameter, ...needed])];
    else if (type?.kind !== 'optional' || type.of.kind === 'optional') break;
    found[at] = needed;
  }
  return found;
}
