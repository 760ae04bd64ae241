/** Payloads as columns: which columns a view of a record has, and where each finds its value in the payload's JSON. */
import type { BuiltinName, DamlType, DataType, TypeName } from './package-model.ts';
import { findDataType, qualifiedName, type PackageLookup } from './package-lookup.ts';
import { identifierLimit, shortName } from './short-name.ts';
import { withoutHumps } from './snake-case.ts';
import { isRepeated } from './type-nesting.ts';
import { bindParameters, fieldType } from './type-parameters.ts';
import { typeText } from './type-text.ts';

/** `interval`: the value is a number of microseconds as text. All others cast from the text of the JSON value. */
export type PostgresType = 'text' | 'numeric' | 'bigint' | 'boolean' | 'date' | 'timestamptz' | 'interval' | 'jsonb';

export interface PayloadColumn {
  readonly name: string;
  /** Keys from the payload down to the value, for `#>>`, or `#>` when the type is jsonb. Every column can be null. */
  readonly path: readonly string[];
  readonly type: PostgresType;
  /** Path and type in Daml, e.g. `lock.expiresAt: Optional Time`. */
  readonly description: string;
}

/** Most levels of fields that become columns; what lies deeper is jsonb. */
const levelLimit = 3;
/** Postgres takes 1,664 columns in a view, and a view has others beside these. */
const columnLimit = 1000;
/** Most types looked at for one view, since fields without a column would not count otherwise. */
const visitLimit = 10_000;

const builtinColumns: Readonly<Record<BuiltinName, PostgresType>> = {
  unit: 'jsonb',
  any: 'jsonb',
  bool: 'boolean',
  int64: 'bigint',
  text: 'text',
  party: 'text',
  date: 'date',
  timestamp: 'timestamptz',
};

type NamedType = Extract<DamlType, { kind: 'named' }>;
type RecordType = Extract<DataType, { kind: 'record' }>;
type UnnamedColumn = Omit<PayloadColumn, 'name'>;

/** Where in the payload a type stands. */
interface Place {
  readonly path: readonly string[];
  /** Levels of fields that may follow. */
  readonly levels: number;
  /** Records around this place. */
  readonly around: readonly TypeName[];
  readonly optional: boolean;
}

interface Walk {
  readonly packages: PackageLookup;
  readonly columns: UnnamedColumn[];
  visits: number;
}

/**
 * Columns of a record, in the order of its fields, those of nested records in the place of the record. Their names are the
 * names of the fields on the way, in lower case with `_` at the humps.
 *
 * None for anything else than a known record, and at most 1,000: where there were more, records stay whole as jsonb.
 * @param reserved column names that the view has for something else
 */
export function columnsOf(
  name: TypeName,
  packages: PackageLookup,
  reserved: ReadonlySet<string> = new Set(),
): readonly PayloadColumn[] {
  if (findDataType(name, packages)?.kind !== 'record') return [];
  for (let levels = levelLimit; levels > 1; levels--) {
    const walk = walkThrough(name, packages, levels);
    if (!isFull(walk)) return withNames(walk.columns, reserved);
  }
  return withNames(walkThrough(name, packages, 1).columns.slice(0, columnLimit), reserved);
}

function walkThrough(name: TypeName, packages: PackageLookup, levels: number): Walk {
  const walk: Walk = { packages, columns: [], visits: 0 };
  addType({ kind: 'named', name, arguments: [] }, { path: [], levels, around: [], optional: false }, walk);
  return walk;
}

function isFull(walk: Walk): boolean {
  return walk.columns.length > columnLimit || walk.visits > visitLimit;
}

function addType(type: DamlType, place: Place, walk: Walk): void {
  walk.visits++;
  if (type.kind === 'named') {
    addNamed(type, place, walk);
  } else if (type.kind === 'optional' && !place.optional && type.of.kind !== 'optional') {
    // An optional value in an optional value is in brackets, so only one alone leaves its value plain.
    addType(type.of, { ...place, optional: true }, walk);
  } else if (place.optional || type.kind !== 'builtin' || type.name !== 'unit') {
    walk.columns.push(column(plainType(type), type, place));
  }
}

/** @param key of the value, where it lies one deeper than its field */
function column(type: PostgresType, daml: DamlType, place: Place, key?: string): UnnamedColumn {
  const text = typeText(place.optional ? { kind: 'optional', of: daml } : daml);
  const path = key === undefined ? place.path : [...place.path, key];
  return { path, type, description: `${place.path.join('.')}: ${text}` };
}

function plainType(type: DamlType): PostgresType {
  if (type.kind === 'numeric') return 'numeric';
  if (type.kind === 'contract_id') return 'text';
  return type.kind === 'builtin' ? builtinColumns[type.name] : 'jsonb';
}

function addNamed(type: NamedType, place: Place, walk: Walk): void {
  const found = findDataType(type.name, walk.packages);
  if (found?.kind === 'enum') {
    walk.columns.push(column('text', type, place));
  } else if (found?.kind === 'variant') {
    const tag = column('text', type, place, 'tag');
    walk.columns.push({ ...tag, description: `${tag.description}, which case` }, column('jsonb', type, place));
  } else if (found?.kind === 'record' && isDuration(type.name, found)) {
    walk.columns.push(column('interval', type, place, 'microseconds'));
  } else if (found?.kind === 'record' && place.levels > 0 && !isRepeated(type, place.around)) {
    addFields(type, found, place, walk);
  } else {
    walk.columns.push(column('jsonb', type, place));
  }
}

/** `RelTime` of the standard library. */
function isDuration(name: TypeName, { fields }: RecordType): boolean {
  const [field] = fields;
  return qualifiedName(name) === 'DA.Time.Types:RelTime' && fields.length === 1 && field?.name === 'microseconds';
}

function addFields(type: NamedType, record: RecordType, place: Place, walk: Walk): void {
  const bindings = bindParameters(record.parameters, type.arguments);
  for (const field of record.fields) {
    if (isFull(walk)) return;
    const inside: Place = {
      path: [...place.path, field.name],
      levels: place.levels - 1,
      around: [...place.around, type.name],
      optional: false,
    };
    addType(fieldType(field.type, bindings), inside, walk);
  }
}

function withNames(columns: readonly UnnamedColumn[], reserved: ReadonlySet<string>): readonly PayloadColumn[] {
  const taken = new Set(reserved);
  return columns.map((each) => {
    const name = freeName(columnName(each), each.path.join('.'), taken);
    taken.add(name);
    return { name, ...each };
  });
}

function columnName({ path, type }: UnnamedColumn): string {
  const parts = type === 'interval' ? path.slice(0, -1) : path;
  return parts.map((part) => withoutHumps(part).replaceAll(/[^a-z0-9_]/g, '_')).join('_');
}

function freeName(name: string, identity: string, taken: ReadonlySet<string>): string {
  const short = shortName(name, identity);
  if (!taken.has(short)) return short;
  for (let number = 2; ; number++) {
    const suffix = `_${number}`;
    const numbered = shortName(name, identity, identifierLimit - suffix.length) + suffix;
    if (!taken.has(numbered)) return numbered;
  }
}
