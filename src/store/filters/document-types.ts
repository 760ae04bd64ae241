/** Finds fields in values of Daml types, as the ledger writes these values in JSON. Pure. */
import type { BuiltinName, DamlType, PackageLookup } from '../../daml/package-model.ts';
import { bindParameters, fieldType, findDataType } from '../../daml/type-walk.ts';

/**
 * Kinds of fields in JSON. `any` is a field whose type is not known: it is compared as the kind of the value. `object`
 * can only be tested for null.
 */
export type DocumentKind = 'text' | 'number' | 'boolean' | 'time' | 'date' | 'texts' | 'object' | 'any';

const anyType: DamlType = { kind: 'builtin', name: 'any' };
const textType: DamlType = { kind: 'builtin', name: 'text' };
/** Maximum number of types that one field may have: one for each version of its template and case of a variant. */
const maxTypes = 200;

const builtinKinds: Readonly<Record<BuiltinName, DocumentKind>> = {
  unit: 'object',
  any: 'any',
  bool: 'boolean',
  int64: 'number',
  text: 'text',
  party: 'text',
  date: 'date',
  timestamp: 'time',
};

/**
 * Maximum number of parts of one type. The arguments of a type that contains itself with larger arguments grow with each
 * step of a path.
 */
const maxParts = 1_000;

type NamedType = Extract<DamlType, { kind: 'named' }>;

/** The types of a field of these types; empty if none of them has the field. */
export function stepInto(types: readonly DamlType[], step: string, packages: PackageLookup): readonly DamlType[] {
  const found = types.flatMap((type) => typesOfStep(type, step, packages));
  return distinct(found.map((type) => (partsLeft(type, maxParts) > 0 ? type : anyType)));
}

/** How many of this number of parts are left after those of the type; counts no further than 0. */
function partsLeft(type: DamlType, most: number): number {
  let parts: readonly DamlType[] = [];
  if (type.kind === 'named') parts = type.arguments;
  else if (type.kind === 'genmap') parts = [type.key, type.of];
  else if ('of' in type) parts = [type.of];
  let left = most - 1;
  for (const part of parts) if (left > 0) left = partsLeft(part, left);
  return left;
}

function typesOfStep(type: DamlType, step: string, packages: PackageLookup): readonly DamlType[] {
  switch (type.kind) {
    case 'optional':
      // An Optional in an Optional is written in brackets, and has no fields.
      return type.of.kind === 'optional' ? [] : typesOfStep(type.of, step, packages);
    case 'textmap':
      return [type.of];
    case 'named':
      return typesInNamed(type, step, packages);
    case 'builtin':
      return type.name === 'any' ? [anyType] : [];
    case 'variable':
    case 'opaque':
      return [anyType];
    case 'numeric':
    case 'list':
    case 'genmap':
    case 'contract_id':
    default:
      return [];
  }
}

function typesInNamed(type: NamedType, step: string, packages: PackageLookup): readonly DamlType[] {
  const dataType = findDataType(type.name, packages);
  if (dataType === undefined) return [anyType];
  if (dataType.kind === 'enum') return [];
  const bindings = bindParameters(dataType.parameters, type.arguments);
  if (dataType.kind === 'record') {
    return dataType.fields.filter(({ name }) => name === step).map((field) => fieldType(field.type, bindings));
  }
  if (step === 'tag') return [textType];
  return step === 'value' ? dataType.cases.map((variant) => fieldType(variant.type, bindings)) : [];
}

/** Names of the fields that values of these types have, as far as they are known. */
export function documentSteps(types: readonly DamlType[], packages: PackageLookup): readonly string[] {
  return [...new Set(types.flatMap((type) => stepsOf(type, packages)))];
}

function stepsOf(type: DamlType, packages: PackageLookup): readonly string[] {
  if (type.kind === 'optional') return stepsOf(type.of, packages);
  const dataType = type.kind === 'named' ? findDataType(type.name, packages) : undefined;
  if (dataType?.kind === 'record') return dataType.fields.map(({ name }) => name);
  return dataType?.kind === 'variant' ? ['tag', 'value'] : [];
}

/** The kind of values of these types; `any` if they differ. */
export function documentKind(types: readonly DamlType[], packages: PackageLookup): DocumentKind {
  const kinds = new Set(types.map((type) => kindOf(type, packages)));
  const [only] = kinds;
  return kinds.size === 1 && only !== undefined ? only : 'any';
}

function kindOf(type: DamlType, packages: PackageLookup): DocumentKind {
  switch (type.kind) {
    case 'builtin':
      return builtinKinds[type.name];
    case 'numeric':
      return 'number';
    case 'contract_id':
      return 'text';
    case 'optional':
      return type.of.kind === 'optional' ? 'object' : kindOf(type.of, packages);
    case 'list':
      return kindOf(type.of, packages) === 'text' ? 'texts' : 'object';
    case 'named': {
      const dataType = findDataType(type.name, packages);
      if (dataType === undefined) return 'any';
      return dataType.kind === 'enum' ? 'text' : 'object';
    }
    case 'variable':
    case 'opaque':
      return 'any';
    case 'textmap':
    case 'genmap':
    default:
      return 'object';
  }
}

function distinct(types: readonly DamlType[]): readonly DamlType[] {
  const byText = new Map<string, DamlType>();
  for (const type of types) {
    byText.set(JSON.stringify(type), type);
    if (byText.size === maxTypes) break;
  }
  return [...byText.values()];
}
