/** Columns of the lake in the schemas of Parquet and Delta Lake. */
import type { SchemaElement } from 'hyparquet';
import type { LakeColumn, LakeTable, LakeType } from './lake-column.ts';

/** Total digits of every decimal, as on the ledger. */
const precision = 38;
/** Bytes of a decimal with these digits. */
const decimalBytes = 16;

/** Elements of the file's schema, the root first. Every column can be null. */
export function parquetSchema(columns: readonly LakeColumn[]): SchemaElement[] {
  return [{ name: 'root', num_children: columns.length }, ...columns.flatMap(elementsOf)];
}

type Column = Pick<SchemaElement, 'name' | 'repetition_type'>;

const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

const elements: Readonly<Record<LakeType, (column: Column, scale: number) => SchemaElement[]>> = {
  boolean: (column) => [{ ...column, type: 'BOOLEAN' }],
  int32: (column) => [{ ...column, type: 'INT32' }],
  int64: (column) => [{ ...column, type: 'INT64' }],
  double: (column) => [{ ...column, type: 'DOUBLE' }],
  text: (column) => [{ ...column, ...utf8 }],
  timestamp: (column) => [
    {
      ...column,
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
  ],
  date: (column) => [{ ...column, type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } }],
  decimal: (column, scale) => [
    {
      ...column,
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: decimalBytes,
      converted_type: 'DECIMAL',
      logical_type: { type: 'DECIMAL', precision, scale },
      precision,
      scale,
    },
  ],
  texts: (column) => [
    { ...column, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL', ...utf8 },
  ],
};

function elementsOf({ name, type, scale = 0 }: LakeColumn): SchemaElement[] {
  return elements[type]({ name, repetition_type: 'OPTIONAL' }, scale);
}

const deltaTypes: Readonly<Record<Exclude<LakeType, 'texts' | 'decimal'>, string>> = {
  boolean: 'boolean',
  int32: 'integer',
  int64: 'long',
  double: 'double',
  text: 'string',
  timestamp: 'timestamp',
  date: 'date',
};

/** `schemaString` of a Delta table. Source: Delta transaction log protocol, "Schema Serialization Format". */
export function deltaSchema({ columns }: LakeTable): string {
  const fields = columns.map((column) => ({
    name: column.name,
    type: deltaType(column),
    nullable: true,
    metadata: {},
  }));
  return JSON.stringify({ type: 'struct', fields });
}

function deltaType({ type, scale = 0 }: LakeColumn): string | object {
  if (type === 'texts') return { type: 'array', elementType: 'string', containsNull: true };
  if (type === 'decimal') return `decimal(${String(precision)},${String(scale)})`;
  return deltaTypes[type];
}
