/** Reads a Parquet file of the lake, one row group at a time, as the values it was written from. */
import * as zlib from 'node:zlib';
import { type FileMetaData, parquetMetadataAsync, parquetRead, type SchemaElement } from 'hyparquet';
import { LakeError } from '../errors/lake-error.ts';
import type { LakeColumn, LakeType, LakeValues } from './lake-column.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';

export interface StoredGroup {
  /** Values of the requested columns, in the requested order. */
  readonly values: readonly LakeValues[];
  readonly rows: number;
}

type Decode = (storedValue: unknown) => LakeValues[number];

/**
 * Must be read to its end, or abandoned.
 * @throws LakeError EXPORT_REFUSED if this Node does not support the compression
 */
export async function* storedRows(
  folder: LakeStorage,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  columns: readonly LakeColumn[],
): AsyncGenerator<StoredGroup> {
  const file = {
    byteLength: bytes,
    slice: async (start: number, end: number = bytes) => (await folder.readPart(path, start, end)).buffer,
  };
  const metadata = withoutConversion(await parquetMetadataAsync(file));
  let rowStart = 0;
  for (const { num_rows } of metadata.row_groups) {
    const rows = Number(num_rows);
    const group: unknown[][] = [];
    await parquetRead({
      file,
      metadata,
      columns: columns.map(({ name }) => name),
      rowStart,
      rowEnd: rowStart + rows,
      compressors,
      utf8: false,
      rowFormat: 'array',
      onComplete: (resultRows: unknown[][]) => void group.push(...resultRows),
    });
    rowStart += rows;
    yield {
      rows,
      values: columns.map(({ type }, index) => {
        const decode = decoders[type];
        return group.map((row) => (row[index] === null || row[index] === undefined ? null : decode(row[index])));
      }),
    };
  }
}

/**
 * Changes the schema so that numbers and texts are read as raw bytes. Otherwise the reader would convert decimals to
 * floats, and timestamps to dates. Lists remain lists.
 */
function withoutConversion(metadata: FileMetaData): FileMetaData {
  return {
    ...metadata,
    schema: metadata.schema.map((element) => (isKeptElement(element) ? element : plainElement(element))),
  };
}

function isKeptElement({ name, num_children }: SchemaElement): boolean {
  return num_children !== undefined || name === 'element';
}

function plainElement(element: SchemaElement): SchemaElement {
  const { converted_type: _, logical_type: __, ...otherFields } = element;
  return otherFields;
}

/**
 * Maximum length of texts that become strings. Short texts mostly were strings when written, so that their bounds are
 * recorded.
 */
const longestText = 256;

const identity: Decode = (storedValue) => storedValue as LakeValues[number];

const decoders: Readonly<Record<LakeType, Decode>> = {
  boolean: identity,
  int32: identity,
  int64: identity,
  double: identity,
  date: identity,
  timestamp: identity,
  texts: identity,
  text: (storedValue) => {
    const bytes = storedValue as Uint8Array;
    return bytes.length > longestText ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  },
  decimal: (storedValue) => {
    const digits = Buffer.from(storedValue as Uint8Array).toString('hex');
    return BigInt.asIntN(digits.length * 4, BigInt(`0x${digits}`));
  },
};

const compressors = {
  GZIP: (bytes: Uint8Array): Uint8Array => zlib.gunzipSync(bytes),
  ZSTD: (bytes: Uint8Array): Uint8Array => {
    const decompress: unknown = Reflect.get(zlib, 'zstdDecompressSync');
    if (typeof decompress === 'function') return (decompress as (input: Uint8Array) => Uint8Array)(bytes);
    throw new LakeError('a file of the lake is compressed with Zstandard, which this Node cannot read', {
      code: 'EXPORT_REFUSED',
      remedy: 'run it with Node 22.15 or newer, as the export that wrote the file was',
    });
  },
};
