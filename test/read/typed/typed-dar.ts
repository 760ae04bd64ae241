/** Generated DARs with records, for tests that choose the difference between two package versions. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { darOf, sealArchive, sha256 } from '../../../packages/ledger-sandbox/test/packages/dars.ts';

/** A built-in type, an optional value, or a record of the same module by name. */
export type FieldType = 'int64' | 'text' | 'bool' | { readonly optional: FieldType } | { readonly record: string };

export interface RecordPackage {
  readonly name: string;
  readonly version: string;
  /** Records by name, with their fields in order. The records in `templates` are payloads. */
  readonly records: Readonly<Record<string, Readonly<Record<string, FieldType>>>>;
  readonly templates: readonly string[];
}

const builtins = { bool: 1, int64: 2, text: 7, optional: 9 } as const;

class Tables {
  readonly strings: string[] = [''];
  readonly dotted: string[] = [''];

  text(text: string): number {
    return indexIn(this.strings, text);
  }

  name(name: string): number {
    this.text(name);
    return indexIn(this.dotted, name);
  }
}

function indexIn(table: string[], text: string): number {
  if (!table.includes(text)) table.push(text);
  return table.indexOf(text);
}

type Part = readonly [field: number, value: number | string | Uint8Array];

function message(...messageParts: readonly Part[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, value] of messageParts) {
    if (typeof value === 'number') writer.tag(field, WireType.Varint).int32(value);
    else if (typeof value === 'string') writer.tag(field, WireType.LengthDelimited).string(value);
    else writer.tag(field, WireType.LengthDelimited).bytes(value);
  }
  return writer.finish();
}

const moduleName = 'Main';

function typeOf(type: FieldType, tables: Tables): Uint8Array {
  if (typeof type === 'string') return message([3, message([1, builtins[type]])]);
  if ('optional' in type) return message([3, message([1, builtins.optional], [2, typeOf(type.optional, tables)])]);
  const self = message([1, message([1, new Uint8Array()])], [2, tables.name(moduleName)]);
  return message([2, message([1, message([1, self], [2, tables.name(type.record)])])]);
}

function payloadOf({ name, version, records, templates }: RecordPackage): Uint8Array {
  const tables = new Tables();
  const dataTypes = Object.entries(records).map(([record, fields]): Part => {
    const encodedFields = Object.entries(fields).map(([field, type]): Part => {
      return [1, message([2, typeOf(type, tables)], [3, tables.text(field)])];
    });
    return [4, message([2, tables.name(record)], [4, 1], [5, message(...encodedFields)])];
  });
  const module = message(
    [1, tables.name(moduleName)],
    ...dataTypes,
    ...templates.map((template): Part => [6, message([1, tables.name(template)])]),
  );
  const metadata = message([1, tables.text(name)], [2, tables.text(version)]);
  const body = message(
    [1, module],
    ...tables.strings.map((text): Part => [2, text]),
    ...tables.dotted.map((text): Part => [3, message([1, tables.strings.indexOf(text)])]),
    [4, metadata],
  );
  return message([3, '1'], [4, body]);
}

export interface RecordDar {
  readonly packageId: string;
  readonly dar: Uint8Array;
}

export function recordDar(source: RecordPackage): RecordDar {
  const payload = payloadOf(source);
  return {
    packageId: sha256(payload),
    dar: darOf({ [`${source.name}-${source.version}.dalf`]: sealArchive(payload) }),
  };
}
