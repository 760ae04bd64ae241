/**
 * Reads DARs. A DAR is a zip whose META-INF/MANIFEST.MF names the archive of the main package (`Main-Dalf`) and those
 * of all its dependencies (`Dalfs`). Only the manifest and the archives are inflated, and only if their declared sizes
 * are small enough: the inflater never writes more than an entry declares.
 */
import { unzipSync } from 'fflate';
import type { UnzipFileInfo } from 'fflate';
import { LedgerFailure } from '../wire/failure.ts';
import { invalidDar, invalidZipEntry, zipBomb } from './package-failure.ts';

const manifestName = 'META-INF/MANIFEST.MF';
/** Maximum size of manifest and archives together after inflating, bytes. */
export const inflatedLimit = 128 * 1024 * 1024;

interface Contents {
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Names of all entries, for the context of errors. */
  readonly names: readonly string[];
}

function unzip(bytes: Uint8Array, limit: number): Contents {
  const names: string[] = [];
  const extractedNames = new Set<string>();
  let inflatedBytes = 0;
  const filter = ({ name, originalSize }: UnzipFileInfo): boolean => {
    names.push(name);
    if (name !== manifestName && !name.endsWith('.dalf')) return false;
    if (extractedNames.has(name)) throw invalidZipEntry(name, names);
    extractedNames.add(name);
    inflatedBytes += originalSize;
    if (inflatedBytes > limit) throw zipBomb(`the archives inflate to more than ${limit} bytes`);
    return true;
  };
  try {
    return { files: unzipSync(bytes, { filter }), names };
  } catch (error) {
    if (error instanceof LedgerFailure) throw error;
    throw invalidDar(names, 'the file is not a readable zip archive');
  }
}

/** The attributes of a manifest. A line that begins with a space continues the previous line. */
function attributesOf(manifest: string): ReadonlyMap<string, string> {
  const lines = manifest.replaceAll(/\r?\n /g, '').split(/\r?\n/);
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const];
    }),
  );
}

/** The names of the archives without repetitions, the main one first. */
function archiveNames({ files, names }: Contents): readonly string[] {
  const manifest = files[manifestName];
  if (manifest === undefined) throw invalidDar(names, `the entry ${manifestName} is missing`);
  const attributes = attributesOf(Buffer.from(manifest).toString());
  if ((attributes.get('Format') ?? 'daml-lf') !== 'daml-lf') throw invalidDar(names, 'its Format is not daml-lf');
  if ((attributes.get('Encryption') ?? 'non-encrypted') !== 'non-encrypted') throw invalidDar(names, 'it is encrypted');
  const main = attributes.get('Main-Dalf') ?? '';
  if (main === '') throw invalidDar(names, 'the manifest names no Main-Dalf');
  const dalfNames = (attributes.get('Dalfs') ?? '').split(',').map((name) => name.trim());
  return [...new Set([main, ...dalfNames.filter((name) => name !== '')])];
}

/**
 * The archives of a DAR, the main one first. Throws the participant's refusals INVALID_DAR, INVALID_ZIP_ENTRY,
 * ZIP_BOMB.
 * @param limit maximum number of bytes after inflating
 */
export function readDar(bytes: Uint8Array, limit: number = inflatedLimit): readonly Uint8Array[] {
  const zipEntries = unzip(bytes, limit);
  return archiveNames(zipEntries).map((name) => {
    const archive = Object.hasOwn(zipEntries.files, name) ? zipEntries.files[name] : undefined;
    if (archive === undefined) throw invalidZipEntry(name, zipEntries.names);
    return archive;
  });
}
