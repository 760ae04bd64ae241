/**
 * The fields that payloads leave out. From release 3.5 on, the JSON Ledger API does not write the last fields of a record when they are
 * None; who reads `payload->'lock' = 'null'` finds nothing there. A padding says where such fields belong.
 */
import { bindParameters, fieldType, findDataType, isRepeated } from './type-walk.ts';
import type { DamlField, DamlType, PackageLookup, TypeName } from './package-model.ts';

/**
 * How a JSON value is completed. It has exactly one of these forms, and is never empty:
 * - `{"nulls": {"lock": null}, "fields": {"meta": padding}}`, a record: the value becomes `nulls || value`, then each field
 *   in `fields` that is there and is not null is completed; `fields` is left out when there is none
 * - `{"items": padding}`, an array (a list, or an Optional in an Optional): each element is completed
 * - `{"values": padding}`, an object (a TextMap): each value is completed
 * - `{"entries": [padding or null, padding or null]}`, an array of pairs (a GenMap): keys by the first, values by the second
 * - `{"cases": {"Tag": padding}}`, a variant: where the value's `tag` is listed, its `value` is completed
 *
 * A value that is null, or not of the form expected, stays as it is.
 */
export type Padding =
  | { readonly nulls: Readonly<Record<string, null>>; readonly fields?: Readonly<Record<string, Padding>> }
  | { readonly items: Padding }
  | { readonly values: Padding }
  | { readonly entries: readonly [Padding | null, Padding | null] }
  | { readonly cases: Readonly<Record<string, Padding>> };

/** Most types that one padding looks at; what comes after is left as the ledger wrote it. */
const typeLimit = 2000;

interface Walk {
  readonly packages: PackageLookup;
  left: number;
}

/**
 * The padding of a data type's values; undefined when nothing can be missing. A type inside of itself is completed only on
 * the outside, one with parameters three times, and types of unknown packages stay as they are.
 */
export function paddingOf(name: TypeName, packages: PackageLookup): Padding | undefined {
  return paddingOfType({ kind: 'named', name, arguments: [] }, packages);
}

/** The same for a type as it is used, e.g. the result of a choice. */
export function paddingOfType(type: DamlType, packages: PackageLookup): Padding | undefined {
  return padding(type, { packages, left: typeLimit }, []);
}

function padding(type: DamlType, walk: Walk, around: readonly TypeName[]): Padding | undefined {
  if (walk.left-- <= 0) return undefined;
  if (type.kind === 'optional') return paddingOfOptional(type.of, walk, around);
  if (type.kind === 'named') return paddingOfNamed(type, walk, around);
  if (type.kind === 'genmap') {
    const entries = [padding(type.key, walk, around) ?? null, padding(type.of, walk, around) ?? null] as const;
    return entries[0] === null && entries[1] === null ? undefined : { entries };
  }
  if (type.kind !== 'list' && type.kind !== 'textmap') return undefined;
  const found = padding(type.of, walk, around);
  if (found === undefined) return undefined;
  return type.kind === 'list' ? { items: found } : { values: found };
}

/** An Optional alone is its value or null; in an Optional, each of them is an array of at most one value. */
function paddingOfOptional(of: DamlType, walk: Walk, around: readonly TypeName[]): Padding | undefined {
  let levels = 1;
  let inside = of;
  for (; inside.kind === 'optional'; inside = inside.of) levels++;
  let found = padding(inside, walk, around);
  if (levels === 1) return found;
  for (; levels > 0 && found !== undefined; levels--) found = { items: found };
  return found;
}

function paddingOfNamed(
  type: Extract<DamlType, { kind: 'named' }>,
  walk: Walk,
  around: readonly TypeName[],
): Padding | undefined {
  if (isRepeated(type, around)) return undefined;
  const found = findDataType(type.name, walk.packages);
  if (found === undefined || found.kind === 'enum') return undefined;
  const bindings = bindParameters(found.parameters, type.arguments);
  const parts = (found.kind === 'record' ? found.fields : found.cases).map((part) => ({
    name: part.name,
    type: fieldType(part.type, bindings),
  }));
  const inside = paddingsOf(parts, walk, [...around, type.name]);
  if (found.kind === 'variant') return inside === undefined ? undefined : { cases: inside };
  const nulls = Object.fromEntries(lastOptionals(parts).map(({ name }) => [name, null]));
  if (inside !== undefined) return { nulls, fields: inside };
  return Object.keys(nulls).length === 0 ? undefined : { nulls };
}

function paddingsOf(
  parts: readonly DamlField[],
  walk: Walk,
  around: readonly TypeName[],
): Readonly<Record<string, Padding>> | undefined {
  const found: [string, Padding][] = [];
  for (const part of parts) {
    const inside = padding(part.type, walk, around);
    if (inside !== undefined) found.push([part.name, inside]);
  }
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The fields after the last one that is always written. None of an Optional in an Optional is written, as `[]`. */
function lastOptionals(fields: readonly DamlField[]): readonly DamlField[] {
  const last = fields.findLastIndex(({ type }) => type.kind !== 'optional' || type.of.kind === 'optional');
  return fields.slice(last + 1);
}
