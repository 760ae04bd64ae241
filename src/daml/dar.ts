/**
 * Reads the packages in a DAR: a zip archive of `.dalf` files, in the form that compilers write and `POST /v2/packages`
 * accepts.
 */
import { existsSync } from 'node:fs';
import type * as Fflate from 'fflate';
import { IndexerError, withContext } from '../errors/indexer-error.ts';
import { readPackageArchive } from './package-archive.ts';
import type { PackageModel } from './package-model.ts';

/** The build copies this library next to the compiled program. Without a build, its package is installed. */
const copiedLibrary = new URL('../vendor/fflate/esm/index.mjs', import.meta.url);
const { unzipSync } = (await import(existsSync(copiedLibrary) ? copiedLibrary.href : 'fflate')) as typeof Fflate;

/** Maximum unpacked size of one DAR, bytes. The packages of the standard library have about 10 MiB. */
const maxBytes = 512 * 1024 * 1024;

/**
 * Returns all packages of a DAR, including dependencies.
 * @throws IndexerError DAR_UNREADABLE with the name `file` if it is not a DAR or too large; PACKAGE_UNREADABLE with the
 * names of file and package
 */
export function packagesInDar(bytes: Uint8Array, file: string): readonly PackageModel[] {
  let unpackedBytes = 0;
  const filter = ({ name, originalSize }: { readonly name: string; readonly originalSize: number }): boolean => {
    if (!name.endsWith('.dalf')) return false;
    unpackedBytes += originalSize;
    if (unpackedBytes > maxBytes)
      throw unreadableDarError(file, `its packages are larger than ${String(maxBytes)} bytes`);
    return true;
  };
  const archives = Object.values(unzipFiles(bytes, filter, file));
  if (archives.length === 0) throw unreadableDarError(file, 'it contains no .dalf file');
  return archives.map((archive) => packageIn(archive, file));
}

function packageIn(archive: Uint8Array, file: string): PackageModel {
  try {
    return readPackageArchive(archive);
  } catch (thrown) {
    if (!(thrown instanceof IndexerError)) throw thrown;
    const remedy = 'name a DAR that an SDK of version 3 has built (Daml-LF 2), or leave this one out';
    throw withContext(thrown, { message: `${file}: ${thrown.message}`, remedy });
  }
}

function unzipFiles(
  bytes: Uint8Array,
  filter: (file: { name: string; originalSize: number }) => boolean,
  file: string,
) {
  try {
    return unzipSync(bytes, { filter });
  } catch (thrown) {
    throw thrown instanceof IndexerError
      ? thrown
      : unreadableDarError(file, 'it is not a zip archive, or it is damaged', thrown);
  }
}

function unreadableDarError(file: string, problem: string, cause?: unknown): IndexerError {
  return new IndexerError(`${file} cannot be read as a DAR: ${problem}`, { code: 'DAR_UNREADABLE', cause });
}
