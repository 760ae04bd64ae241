/**
 * Records as types of TypeScript. The ledger leaves out the last fields of a record that are None. Which those are can depend on
 * the arguments of a generic one, such as `_2` of `(Text, Optional Int)`, and these on the arguments of what it stands in: so it
 * is said of the parameters, and the compiler finds out. Pure.
 */
import type { DamlField, DamlType } from '../daml/package-model.ts';
import { keyText } from './identifiers.ts';

export interface WrittenField extends DamlField {
  /** Its type, in TypeScript. */
  readonly text: string;
}

/** Undefined: always there. Else parameters that all have to be Optionals for it to be left out. */
type MayLack = readonly string[] | undefined;

/**
 * @param lasting how many fields every version has that this one upgrades; those after them can be missing whatever they are
 * @param parameters how parameters are called, by their names in Daml
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

/** From the last one on, until there is one that is always written. None of an Optional in an Optional is written, as `[]`. */
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
