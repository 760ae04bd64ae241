/** Reads zip archives. Only the two methods that archives use today are supported: stored and deflated. */
import { crc32, inflateRawSync } from 'node:zlib';

const signatures = { end: 0x0605_4b50, directoryEntry: 0x0201_4b50, localEntry: 0x0403_4b50 } as const;
const endBytes = 22;
const longestComment = 0xff_ff;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly size: number;
  readonly localHeader: number;
}

/**
 * Contents of the selected entries, in the order of the directory.
 * @param isSelected gets the unpacked size that the directory states; no entry yields more bytes
 * @throws Error if the archive is damaged; errors of `isSelected`
 */
export function unzip(
  bytes: Uint8Array,
  isSelected: (entry: { readonly name: string; readonly size: number }) => boolean,
): readonly Uint8Array[] {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return directoryOf(archive)
    .filter(isSelected)
    .map((entry) => contentOf(archive, entry));
}

function directoryOf(archive: Buffer): readonly Entry[] {
  const end = endOfDirectory(archive);
  let position = archive.readUInt32LE(end + 16);
  return Array.from({ length: archive.readUInt16LE(end + 10) }, () => {
    expectSignature(archive, position, signatures.directoryEntry);
    const nameEnd = position + 46 + archive.readUInt16LE(position + 28);
    const entry: Entry = {
      name: archive.toString('utf8', position + 46, nameEnd),
      method: archive.readUInt16LE(position + 10),
      crc: archive.readUInt32LE(position + 16),
      packedSize: archive.readUInt32LE(position + 20),
      size: archive.readUInt32LE(position + 24),
      localHeader: archive.readUInt32LE(position + 42),
    };
    position = nameEnd + archive.readUInt16LE(position + 30) + archive.readUInt16LE(position + 32);
    return entry;
  });
}

/** The last record of an archive, before its comment. */
function endOfDirectory(archive: Buffer): number {
  for (let position = archive.length - endBytes; position >= 0; position -= 1) {
    if (archive.length - position > endBytes + longestComment) break;
    if (archive.readUInt32LE(position) === signatures.end) return position;
  }
  throw new Error('the end of the directory is missing');
}

function contentOf(archive: Buffer, { name, method, crc, packedSize, size, localHeader }: Entry): Uint8Array {
  expectSignature(archive, localHeader, signatures.localEntry);
  const start = localHeader + 30 + archive.readUInt16LE(localHeader + 26) + archive.readUInt16LE(localHeader + 28);
  const packed = archive.subarray(start, start + packedSize);
  if (method !== 0 && method !== 8) throw new Error(`${name} has the unknown method ${String(method)}`);
  // The limit must not be 0.
  const content = method === 0 ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(size, 1) });
  if (content.length !== size || crc32(content) !== crc) throw new Error(`${name} is damaged`);
  return content;
}

function expectSignature(archive: Buffer, position: number, signature: number): void {
  if (archive.readUInt32LE(position) !== signature) throw new Error(`no entry begins at byte ${String(position)}`);
}
