/** Packages from the DARs next to the project. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { readPackageArchive } from '../../src/daml/package-archive.ts';
import type { PackageLookup, PackageModel } from '../../src/daml/package-model.ts';
import { darsFolder } from '../support/wire/recorded.ts';

/** Reason for skipping if there are no DARs; undefined if there are. */
export const darsSkipReason = existsSync(darsFolder)
  ? undefined
  : 'needs DARs of other compilers (LEDGER_DARS names their folder)';

/** Names of the DAR files. If there are none, the list has a placeholder, so that the cases are counted as skipped. */
export function darNames(): readonly string[] {
  return darsSkipReason === undefined ? readdirSync(darsFolder).filter((name) => name.endsWith('.dar')) : ['every DAR'];
}

/** The archives in a DAR, by file name without folder. */
export function archivesOf(dar: string): ReadonlyMap<string, Uint8Array> {
  const files = unzipSync(readFileSync(join(darsFolder, dar)));
  const archives = Object.entries(files).filter(([name]) => name.endsWith('.dalf'));
  return new Map(archives.map(([name, bytes]) => [name.slice(name.lastIndexOf('/') + 1), bytes]));
}

export interface Dar {
  /** The package that the DAR is named after. */
  readonly main: PackageModel;
  readonly packages: PackageLookup;
}

/** Reads a DAR with all its packages. */
export function readDar(dar: string, mainName: string): Dar {
  const models = [...archivesOf(dar).values()].map((bytes) => readPackageArchive(bytes));
  const main = models.find(({ name }) => name === mainName);
  if (main === undefined) throw new Error(`${dar} holds no package ${mainName}`);
  return { main, packages: (packageId) => models.find((model) => model.packageId === packageId) };
}

/**
 * The payload of an archive, in the format of the responses of a participant. It follows the length of the first field.
 */
export function payloadIn(bytes: Uint8Array): Uint8Array {
  let length = 0;
  let position = 1;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[position++] ?? 0;
    length += (byte & 127) << shift;
    if (byte < 128) return bytes.subarray(position, position + length);
  }
}
