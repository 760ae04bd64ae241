/**
 * A compiled package: the protobuf message Archive {hash_function 1, payload 3, hash 4}, whose payload contains a
 * package of language version 2. Only names are read. The field numbers below were found in packages of the SDKs 3.4
 * and 3.5. Names are indexes into two tables of the package, and an index 0 is omitted.
 */
import { createHash } from 'node:crypto';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { LedgerFailure } from '../wire/failure.ts';
import { darParseError } from './package-failure.ts';

export interface PackageArchive {
  /** Lower-case hex SHA-256 of the payload. */
  readonly id: string;
  readonly payload: Uint8Array;
  readonly name: string;
  readonly version: string;
  /** `Module:Entity` */
  readonly templates: readonly string[];
  /** `Module:Entity` */
  readonly interfaces: readonly string[];
}

type FieldReader = (reader: BinaryReader, wireType: WireType) => void;

/** Reads the given fields of a message in the order of the bytes, and skips the others. */
function readMessage(bytes: Uint8Array, fields: Readonly<Record<number, FieldReader>>): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const readField = fields[field];
    if (readField === undefined) reader.skip(wireType, field);
    else readField(reader, wireType);
  }
}

interface ArchiveEnvelope {
  readonly payload: Uint8Array;
  readonly hash: string;
}

function readEnvelope(bytes: Uint8Array): ArchiveEnvelope {
  let hashFunction = 0;
  let payload = new Uint8Array();
  let hash = '';
  readMessage(bytes, {
    1: (reader) => (hashFunction = reader.int32()),
    3: (reader) => (payload = new Uint8Array(reader.bytes())),
    4: (reader) => (hash = reader.string()),
  });
  if (hashFunction !== 0) throw darParseError(`hash function ${hashFunction} is not known`);
  return { payload, hash };
}

/** The package message in a payload. */
function languageTwo(payload: Uint8Array): Uint8Array {
  let foundPayload: Uint8Array | undefined;
  readMessage(payload, { 4: (reader) => (foundPayload = reader.bytes()) });
  if (foundPayload === undefined) throw darParseError('the payload has no package of language version 2');
  return foundPayload;
}

/** Indexes into the string table; packed, or one field each. */
function readSegments(bytes: Uint8Array): readonly number[] {
  const segments: number[] = [];
  readMessage(bytes, {
    1: (reader, wireType) => {
      if (wireType !== WireType.LengthDelimited) {
        segments.push(reader.int32());
        return;
      }
      const packedReader = new BinaryReader(reader.bytes());
      while (packedReader.pos < packedReader.len) segments.push(packedReader.int32());
    },
  });
  return segments;
}

/** The number in a field of a message; 0 if it is omitted. */
function numberIn(bytes: Uint8Array, field: number): number {
  let fieldValue = 0;
  readMessage(bytes, { [field]: (reader) => (fieldValue = reader.int32()) });
  return fieldValue;
}

/** Maximum number of characters of all names together. A table contains a name once, however often it is used. */
const spelledLimit = 16 * 1024 * 1024;

class NameTable {
  readonly strings: string[] = [];
  readonly dotted: (readonly number[])[] = [];
  #spelled = 0;

  text(index: number): string {
    const nameString = this.strings[index];
    if (nameString === undefined) throw darParseError(`no interned string ${index}`);
    return nameString;
  }

  path(index: number): string {
    const dottedName = this.dotted[index];
    if (dottedName === undefined) throw darParseError(`no interned name ${index}`);
    const segments = dottedName.map((segment) => this.text(segment));
    for (const segment of segments) this.#spelled += segment.length + 1;
    if (this.#spelled > spelledLimit) throw darParseError(`its names have more than ${spelledLimit} characters`);
    return segments.join('.');
  }
}

interface Entities {
  readonly templates: string[];
  readonly interfaces: string[];
}

function readModule(bytes: Uint8Array, names: NameTable, entities: Entities): void {
  const module = names.path(numberIn(bytes, 1));
  const entity = (definition: Uint8Array, field: number): string =>
    `${module}:${names.path(numberIn(definition, field))}`;
  readMessage(bytes, {
    6: (reader) => entities.templates.push(entity(reader.bytes(), 1)),
    8: (reader) => entities.interfaces.push(entity(reader.bytes(), 2)),
  });
}

function readPackage(bytes: Uint8Array): Omit<PackageArchive, 'id' | 'payload'> {
  const names = new NameTable();
  const modules: Uint8Array[] = [];
  let metadata = new Uint8Array();
  readMessage(bytes, {
    1: (reader) => modules.push(reader.bytes()),
    2: (reader) => names.strings.push(reader.string()),
    3: (reader) => names.dotted.push(readSegments(reader.bytes())),
    4: (reader) => (metadata = new Uint8Array(reader.bytes())),
  });
  const entities: Entities = { templates: [], interfaces: [] };
  for (const module of modules) readModule(module, names, entities);
  return { name: names.text(numberIn(metadata, 1)), version: names.text(numberIn(metadata, 2)), ...entities };
}

/** Reads the package of a .dalf file. Throws the participant's DAR_PARSE_ERROR if it is damaged or of another kind. */
export function readArchive(bytes: Uint8Array): PackageArchive {
  try {
    const { payload, hash } = readEnvelope(bytes);
    const id = createHash('sha256').update(payload).digest('hex');
    if (id !== hash) throw darParseError(`the archive has the hash ${hash.slice(0, 64)}, its payload ${id}`);
    return { id, payload, ...readPackage(languageTwo(payload)) };
  } catch (error) {
    if (error instanceof LedgerFailure) throw error;
    throw darParseError('the archive is not a readable protobuf message');
  }
}
