// Writes tar archives whose bytes depend only on names, contents, modes and links of the entries.
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const blockBytes = 512;
const types = { file: '0', link: '2', folder: '5' };

/** @typedef {{ name: string, kind: 'file' | 'link' | 'folder', mode: number, bytes?: Buffer, target?: string, owner?: number }} Entry */

/** An archive of entries in the order of their names, all with the same time. @param {number} epoch seconds since 1970 */
export function tar(entries, epoch) {
  const sorted = entries.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const blocks = sorted.flatMap((entry) => {
    const bytes = entry.bytes ?? Buffer.alloc(0);
    return [
      header(entry, bytes.length, epoch),
      bytes,
      Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes),
    ];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

/** Compressed without name, time and operating system. */
export function gzip(bytes) {
  const compressed = gzipSync(bytes, { level: 9 });
  compressed[9] = 255;
  return compressed;
}

/**
 * The files below a folder as entries. Modes are 755 and 644, as npm sets them, because the mode of a clone depends on
 * its user.
 */
export function entriesOf(folder, prefix, isIncluded = () => true) {
  const entries = [];
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!isIncluded(path)) continue;
    const entryName = `${prefix}${name}`;
    const status = lstatSync(path);
    if (status.isSymbolicLink())
      entries.push({ name: entryName, kind: 'link', mode: 0o777, target: readlinkSync(path) });
    else if (status.isDirectory())
      entries.push(
        { name: `${entryName}/`, kind: 'folder', mode: 0o755 },
        ...entriesOf(path, `${entryName}/`, isIncluded),
      );
    else if (status.isFile())
      entries.push({
        name: entryName,
        kind: 'file',
        mode: status.mode & 0o100 ? 0o755 : 0o644,
        bytes: readFileSync(path),
      });
  }
  return entries;
}

function header({ name, kind, mode, target = '', owner = 0 }, size, epoch) {
  const block = Buffer.alloc(blockBytes);
  const [prefix, base] = splitName(name);
  block.write(base, 0, 100, 'utf8');
  writeOctal(block, mode, 100, 8);
  writeOctal(block, owner, 108, 8);
  writeOctal(block, owner, 116, 8);
  writeOctal(block, size, 124, 12);
  writeOctal(block, epoch, 136, 12);
  block.write(types[kind], 156);
  if (Buffer.byteLength(target) > 100) throw new Error(`${name}: the target of the link is longer than 100 bytes`);
  block.write(target, 157, 100, 'utf8');
  block.write('ustar\u000000', 257, 'latin1');
  block.write(prefix, 345, 155, 'utf8');
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function writeOctal(block, value, at, length) {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
}

/** A name of more than 100 bytes is split at a slash. */
function splitName(name) {
  if (Buffer.byteLength(name) <= 100) return ['', name];
  for (let at = name.indexOf('/'); at > 0; at = name.indexOf('/', at + 1)) {
    const [prefix, base] = [name.slice(0, at), name.slice(at + 1)];
    if (base !== '' && Buffer.byteLength(base) <= 100 && Buffer.byteLength(prefix) <= 155) return [prefix, base];
  }
  throw new Error(`${name} is too long for a tar archive`);
}

/** The files of an archive without extensions, by name. Used for archives that `docker save` writes. */
export function filesIn(archive) {
  const files = new Map();
  for (let at = 0; at + blockBytes <= archive.length && archive[at] !== 0;) {
    const text = (from, length) => archive.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8) || 0;
    const prefix = text(345, 155);
    const start = at + blockBytes;
    files.set(prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`, archive.subarray(start, start + size));
    at = start + Math.ceil(size / blockBytes) * blockBytes;
  }
  return files;
}
