/**
 * The fields that payloads omit. Since release 3.5, the JSON Ledger API does not write trailing fields of a record if
 * they are None. A query such as `payload->'lock' = 'null'` does not find them. This module determines the omitted
 * fields of a type and their positions.
 */
import { bindParameters, fieldType, findDataType, isRepeated } from './type-walk.ts';
import type { DamlField, DamlType, PackageLookup, TypeName } from './package-model.ts';

/**
 * How to complete a JSON value. It has exactly one of these forms, and is never empty:
 * - `{"nulls": {"lock": null}, "fields": {"meta": omitted}}`, a record: the value becomes `nulls || value`, then each
 *   field in `fields` that exists and is not null is completed; `fields` is omitted if there is none
 * - `{"items": omitted}`, an array (a list, or an Optional in an Optional): each element is completed
 * - `{"values": omitted}`, an object (a TextMap): each value is completed
 * - `{"entries": [omitted or null, omitted or null]}`, an array of pairs (a GenMap): keys by the first, values by the
 *   second
 * - `{"cases": {"Tag": omitted}}`, a variant: if the value's `tag` is listed, its `value` is completed
 *
 * A value that is null, or not of the form expected, is not changed.
 */
export type OmittedFields =
  | { readonly nulls: Readonly<Record<string, null>>; readonly fields?: Readonly<Record<string, OmittedFields>> }
  | { readonly items: OmittedFields }
  | { readonly values: OmittedFields }
  | { readonly entries: readonly [OmittedFields | null, OmittedFields | null] }
  | { readonly cases: Readonly<Record<string, OmittedFields>> };

/** Maximum number of types that one search visits. Further types are not completed. */
const typeLimit = 2000;

interface FieldWalk {
  readonly packages: PackageLookup;
  left: number;
}

/**
 * The omitted fields in values of a data type; undefined if no field can be missing. A type nested in itself is
 * completed only at the outer level, or at three levels if it has parameters. Types of unknown packages are not
 * completed.
 */
export function omittedFieldsOf(name: TypeName, packages: PackageLookup): OmittedFields | undefined {
  return omittedFieldsOfType({ kind: 'named', name, arguments: [] }, packages);
}

/** The omitted fields in values of a type with its arguments, e.g. the result of a choice. */
export function omittedFieldsOfType(type: DamlType, packages: PackageLookup): OmittedFields | undefined {
  return omittedFieldsIn(type, { packages, left: typeLimit }, []);
}

function omittedFieldsIn(
  type: DamlType,
  walk: FieldWalk,
  enclosingTypes: readonly TypeName[],
): OmittedFields | undefined {
  if (walk.left-- <= 0) return undefined;
  if (type.kind === 'optional') return omittedFieldsOfOptional(type.of, walk, enclosingTypes);
  if (type.kind === 'named') return omittedFieldsOfNamed(type, walk, enclosingTypes);
  if (type.kind === 'genmap') {
    const entries = [
      omittedFieldsIn(type.key, walk, enclosingTypes) ?? null,
      omittedFieldsIn(type.of, walk, enclosingTypes) ?? null,
    ] as const;
    return entries[0] === null && entries[1] === null ? undefined : { entries };
  }
  if (type.kind !== 'list' && type.kind !== 'textmap') return undefined;
  const inner = omittedFieldsIn(type.of, walk, enclosingTypes);
  if (inner === undefined) return undefined;
  return type.kind === 'list' ? { items: inner } : { values: inner };
}

/**
 * An Optional that is not nested is written as its value or null. Of nested Optionals, each is written as an array of
 * at most one value.
 */
function omittedFieldsOfOptional(
  elementType: DamlType,
  walk: FieldWalk,
  enclosingTypes: readonly TypeName[],
): OmittedFields | undefined {
  let levels = 1;
  let innerType = elementType;
  for (; innerType.kind === 'optional'; innerType = innerType.of) levels++;
  let omitted = omittedFieldsIn(innerType, walk, enclosingTypes);
  if (levels === 1) return omitted;
  for (; levels > 0 && omitted !== undefined; levels--) omitted = { items: omitted };
  return omitted;
}

function omittedFieldsOfNamed(
  type: Extract<DamlType, { kind: 'named' }>,
  walk: FieldWalk,
  enclosingTypes: readonly TypeName[],
): OmittedFields | undefined {
  if (isRepeated(type, enclosingTypes)) return undefined;
  const dataType = findDataType(type.name, walk.packages);
  if (dataType === undefined || dataType.kind === 'enum') return undefined;
  const bindings = bindParameters(dataType.parameters, type.arguments);
  const parts = (dataType.kind === 'record' ? dataType.fields : dataType.cases).map((member) => ({
    name: member.name,
    type: fieldType(member.type, bindings),
  }));
  const omitted = omittedFieldsOfMembers(parts, walk, [...enclosingTypes, type.name]);
  if (dataType.kind === 'variant') return omitted === undefined ? undefined : { cases: omitted };
  const nulls = Object.fromEntries(lastOptionals(parts).map(({ name }) => [name, null]));
  if (omitted !== undefined) return { nulls, fields: omitted };
  return Object.keys(nulls).length === 0 ? undefined : { nulls };
}

function omittedFieldsOfMembers(
  parts: readonly DamlField[],
  walk: FieldWalk,
  enclosingTypes: readonly TypeName[],
): Readonly<Record<string, OmittedFields>> | undefined {
  const entries: [string, OmittedFields][] = [];
  for (const member of parts) {
    const omitted = omittedFieldsIn(member.type, walk, enclosingTypes);
    if (omitted !== undefined) entries.push([member.name, omitted]);
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * The fields after the last one that is always written. None of an Optional in an Optional is always written, as `[]`.
 */
function lastOptionals(fields: readonly DamlField[]): readonly DamlField[] {
  const last = fields.findLastIndex(({ type }) => type.kind !== 'optional' || type.of.kind === 'optional');
  return fields.slice(last + 1);
}
