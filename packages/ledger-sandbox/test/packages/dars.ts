/** Writes minimal DARs. An archive has only the fields that contain names. The manifest is complete. */
import { createHash } from 'node:crypto';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { zipSync } from 'fflate';

export interface PackageSource {
  readonly name: string;
  readonly version: string;
  readonly module?: string;
  readonly templates?: readonly string[];
  readonly interfaces?: readonly string[];
}

/** The index of a text in a table. A text that is not in the table is added. */
function indexIn(table: string[], text: string): number {
  if (!table.includes(text)) table.push(text);
  return table.indexOf(text);
}

function bytesField(writer: BinaryWriter, field: number, content: Uint8Array): void {
  writer.tag(field, WireType.LengthDelimited).bytes(content);
}

function numberField(field: number, value: number): Uint8Array {
  const writer = new BinaryWriter();
  if (value !== 0) writer.tag(field, WireType.Varint).int32(value);
  return writer.finish();
}

function payloadOf({ name, version, module = 'Main', templates = [], interfaces = [] }: PackageSource): Uint8Array {
  const strings: string[] = [];
  const dottedNames: string[] = [];
  const archiveBytes = new BinaryWriter();
  archiveBytes.raw(numberField(1, indexIn(dottedNames, module)));
  for (const template of templates) bytesField(archiveBytes, 6, numberField(1, indexIn(dottedNames, template)));
  for (const interfaceName of interfaces)
    bytesField(archiveBytes, 8, numberField(2, indexIn(dottedNames, interfaceName)));
  const body = new BinaryWriter();
  bytesField(body, 1, archiveBytes.finish());
  const names = dottedNames.map((path) => {
    const segments = new BinaryWriter();
    for (const segment of path.split('.')) segments.int32(indexIn(strings, segment));
    const message = new BinaryWriter();
    bytesField(message, 1, segments.finish());
    return message.finish();
  });
  const metadata = new BinaryWriter();
  metadata.raw(numberField(1, indexIn(strings, name))).raw(numberField(2, indexIn(strings, version)));
  for (const text of strings) body.tag(2, WireType.LengthDelimited).string(text);
  for (const path of names) bytesField(body, 3, path);
  bytesField(body, 4, metadata.finish());
  const payload = new BinaryWriter();
  payload.tag(3, WireType.LengthDelimited).string('1');
  bytesField(payload, 4, body.finish());
  return payload.finish();
}

/** Lower-case hex SHA-256. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * An archive of a payload.
 * @param hash the hash in the archive; by default, the right hash
 */
export function sealArchive(payload: Uint8Array, hash: string = sha256(payload)): Uint8Array {
  const writer = new BinaryWriter();
  bytesField(writer, 3, payload);
  return writer.tag(4, WireType.LengthDelimited).string(hash).finish();
}

export interface Compiled {
  readonly id: string;
  readonly payload: Uint8Array;
  readonly archive: Uint8Array;
}

/** A compiled package. */
export function compiled(source: PackageSource): Compiled {
  const payload = payloadOf(source);
  return { id: sha256(payload), payload, archive: sealArchive(payload) };
}

/** A manifest whose lines have at most 72 characters and are continued with a space. */
export function manifestOf(names: readonly string[]): Uint8Array {
  const lines = ['Manifest-Version: 1.0', `Main-Dalf: ${names[0] ?? ''}`, `Dalfs: ${names.join(', ')}`];
  const foldedLines = lines.map((line) => line.replaceAll(/(?<=^.{72}(?:.{71})*)(?=.)/g, '\r\n '));
  return Buffer.from([...foldedLines, 'Format: daml-lf', 'Encryption: non-encrypted', ''].join('\r\n'));
}

/** A DAR from entries (name to archive). The first entry is the main archive. */
export function darOf(
  entries: Readonly<Record<string, Uint8Array>>,
  extraFiles: Readonly<Record<string, Uint8Array>> = {},
): Uint8Array {
  return zipSync({ 'META-INF/MANIFEST.MF': manifestOf(Object.keys(entries)), ...entries, ...extraFiles });
}

/** A DAR of one package. */
export function darOfPackage(source: PackageSource): Uint8Array {
  return darOf({ [`${source.name}-${source.version}.dalf`]: compiled(source).archive });
}
