/** Payloads as columns: the columns in the view of a record, and the path of each value in the JSON of the payload. */
import type { BuiltinName, DamlType, DataType, PackageLookup, TypeName } from './package-model.ts';
import { bindParameters, fieldType, findDataType, isRepeated, qualifiedName } from './type-walk.ts';
import { identifierLimit, shortName, splitCamelCase } from './identifiers.ts';

/**
 * For `interval`, the JSON value is a number of microseconds as text. All other types are cast from the text of the
 * JSON value.
 */
export type PostgresType = 'text' | 'numeric' | 'bigint' | 'boolean' | 'date' | 'timestamptz' | 'interval' | 'jsonb';

export interface PayloadColumn {
  readonly name: string;
  /**
   * Keys from the payload to the value, for the operator `#>>`, or `#>` if the type is jsonb. Every column can be null.
   */
  readonly path: readonly string[];
  readonly type: PostgresType;
  /** Path and Daml type, e.g. `lock.expiresAt: Optional Time`. */
  readonly description: string;
}

/** Maximum nesting depth of fields that become columns. Deeper fields are jsonb. */
const levelLimit = 3;
/** Maximum number of field columns. Postgres allows 1,664 columns in a view, and a view has other columns too. */
const columnLimit = 1000;
/** Maximum number of types visited for one view; it also limits fields that get no column. */
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

/** Position of a type in the payload. */
interface FieldPosition {
  readonly path: readonly string[];
  /** Number of further levels of fields that may become columns. */
  readonly levels: number;
  /** Names of the records that contain this position. */
  readonly around: readonly TypeName[];
  readonly optional: boolean;
}

interface ColumnWalk {
  readonly packages: PackageLookup;
  readonly columns: UnnamedColumn[];
  visits: number;
}

/**
 * Columns of a record, in the order of its fields. The columns of nested records replace the column of the record.
 * Column names are the names of the fields on the path, in snake_case.
 *
 * Empty for anything except a known record. There are at most 1,000 columns; beyond that, a nested record is one jsonb
 * column.
 * @param reservedNames names of other columns of the view
 */
export function columnsOf(
  name: TypeName,
  packages: PackageLookup,
  reservedNames: ReadonlySet<string> = new Set(),
): readonly PayloadColumn[] {
  if (findDataType(name, packages)?.kind !== 'record') return [];
  for (let levels = levelLimit; levels > 1; levels--) {
    const walk = walkColumns(name, packages, levels);
    if (!isFull(walk)) return nameColumns(walk.columns, reservedNames);
  }
  return nameColumns(walkColumns(name, packages, 1).columns.slice(0, columnLimit), reservedNames);
}

function walkColumns(name: TypeName, packages: PackageLookup, levels: number): ColumnWalk {
  const walk: ColumnWalk = { packages, columns: [], visits: 0 };
  addType({ kind: 'named', name, arguments: [] }, { path: [], levels, around: [], optional: false }, walk);
  return walk;
}

function isFull(walk: ColumnWalk): boolean {
  return walk.columns.length > columnLimit || walk.visits > visitLimit;
}

function addType(type: DamlType, position: FieldPosition, walk: ColumnWalk): void {
  walk.visits++;
  if (type.kind === 'named') {
    addNamed(type, position, walk);
  } else if (type.kind === 'optional' && !position.optional && type.of.kind !== 'optional') {
    // An Optional in an Optional is written in brackets, so only the value of a single Optional is written plainly.
    addType(type.of, { ...position, optional: true }, walk);
  } else if (position.optional || type.kind !== 'builtin' || type.name !== 'unit') {
    walk.columns.push(column(postgresTypeOf(type), type, position));
  }
}

/** @param key key of the value, if it is one level below its field */
function column(type: PostgresType, daml: DamlType, position: FieldPosition, key?: string): UnnamedColumn {
  const text = typeText(position.optional ? { kind: 'optional', of: daml } : daml);
  const path = key === undefined ? position.path : [...position.path, key];
  return { path, type, description: `${position.path.join('.')}: ${text}` };
}

function postgresTypeOf(type: DamlType): PostgresType {
  if (type.kind === 'numeric') return 'numeric';
  if (type.kind === 'contract_id') return 'text';
  return type.kind === 'builtin' ? builtinColumns[type.name] : 'jsonb';
}

function addNamed(type: NamedType, position: FieldPosition, walk: ColumnWalk): void {
  const dataType = findDataType(type.name, walk.packages);
  if (dataType?.kind === 'enum') {
    walk.columns.push(column('text', type, position));
  } else if (dataType?.kind === 'variant') {
    const tag = column('text', type, position, 'tag');
    walk.columns.push({ ...tag, description: `${tag.description}, which case` }, column('jsonb', type, position));
  } else if (dataType?.kind === 'record' && isDuration(type.name, dataType)) {
    walk.columns.push(column('interval', type, position, 'microseconds'));
  } else if (dataType?.kind === 'record' && position.levels > 0 && !isRepeated(type, position.around)) {
    addFields(type, dataType, position, walk);
  } else {
    walk.columns.push(column('jsonb', type, position));
  }
}

/** Whether the type is `RelTime` of the standard library. */
function isDuration(name: TypeName, { fields }: RecordType): boolean {
  const [field] = fields;
  return qualifiedName(name) === 'DA.Time.Types:RelTime' && fields.length === 1 && field?.name === 'microseconds';
}

function addFields(type: NamedType, record: RecordType, position: FieldPosition, walk: ColumnWalk): void {
  const bindings = bindParameters(record.parameters, type.arguments);
  for (const field of record.fields) {
    if (isFull(walk)) return;
    const nestedPosition: FieldPosition = {
      path: [...position.path, field.name],
      levels: position.levels - 1,
      around: [...position.around, type.name],
      optional: false,
    };
    addType(fieldType(field.type, bindings), nestedPosition, walk);
  }
}

function nameColumns(columns: readonly UnnamedColumn[], reservedNames: ReadonlySet<string>): readonly PayloadColumn[] {
  const usedNames = new Set(reservedNames);
  return columns.map((unnamedColumn) => {
    const name = freeColumnName(columnName(unnamedColumn), unnamedColumn.path.join('.'), usedNames);
    usedNames.add(name);
    return { name, ...unnamedColumn };
  });
}

function columnName({ path, type }: UnnamedColumn): string {
  const parts = type === 'interval' ? path.slice(0, -1) : path;
  return parts.map((segment) => splitCamelCase(segment).replaceAll(/[^a-z0-9_]/g, '_')).join('_');
}

function freeColumnName(name: string, identity: string, usedNames: ReadonlySet<string>): string {
  const shortColumnName = shortName(name, identity);
  if (!usedNames.has(shortColumnName)) return shortColumnName;
  for (let number = 2; ; number++) {
    const suffix = `_${number}`;
    const numberedName = shortName(name, identity, identifierLimit - suffix.length) + suffix;
    if (!usedNames.has(numberedName)) return numberedName;
  }
}

// Types in readable notation, for descriptions.

const maxLength = 200;

const builtinTexts: Readonly<Record<BuiltinName, string>> = {
  unit: '()',
  bool: 'Bool',
  int64: 'Int',
  text: 'Text',
  party: 'Party',
  date: 'Date',
  timestamp: 'Time',
  any: 'Any',
};

const containerTexts = { optional: 'Optional', textmap: 'TextMap', contract_id: 'ContractId' } as const;

/**
 * The type in Daml notation, e.g. `Optional (TextMap Int)`. Types of packages have their module, but not their package.
 * After 200 characters, the text is truncated with `…`.
 */
function typeText(type: DamlType): string {
  const chunks: string[] = [];
  let length = 0;
  // Arguments may be shared, so the text can be far larger than the type in memory. Writing therefore stops at the
  // limit.
  const write = (chunk: string): boolean => {
    if (length <= maxLength) chunks.push(chunk);
    length += chunk.length;
    return length <= maxLength;
  };
  writeType(type, write);
  return length > maxLength ? `${chunks.join('').slice(0, maxLength)}…` : chunks.join('');
}

/** Receives the next piece of text; returns false to stop. */
type WriteChunk = (chunk: string) => boolean;

function writeType(type: DamlType, write: WriteChunk): boolean {
  if (type.kind === 'builtin') return write(builtinTexts[type.name]);
  if (type.kind === 'numeric') return write(type.scale === undefined ? 'Numeric' : `Numeric ${type.scale}`);
  if (type.kind === 'list') return write('[') && writeType(type.of, write) && write(']');
  if (type.kind === 'genmap') return write('Map') && writeArguments([type.key, type.of], write);
  if (type.kind === 'named') return write(qualifiedName(type.name)) && writeArguments(type.arguments, write);
  if (type.kind === 'variable') return write(type.name);
  if (type.kind === 'opaque') return write('?');
  return write(containerTexts[type.kind]) && writeArguments([type.of], write);
}

function writeArguments(types: readonly DamlType[], write: WriteChunk): boolean {
  return types.every((type) =>
    isApplied(type) ? write(' (') && writeType(type, write) && write(')') : write(' ') && writeType(type, write),
  );
}

function isApplied(type: DamlType): boolean {
  if (type.kind === 'named') return type.arguments.length > 0;
  if (type.kind === 'numeric') return type.scale !== undefined;
  return ['optional', 'textmap', 'genmap', 'contract_id'].includes(type.kind);
}
