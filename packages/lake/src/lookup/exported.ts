/**
 * Finds the offset up to which a lake has everything that the database has. History up to this offset may be pruned
 * without loss.
 */
import type { Reads } from 'ledger-indexer/read';
import { refusedBy } from '../errors/lake-error.ts';
import type { LakeFile } from '../manifest/entries.ts';
import { readManifest } from '../manifest/read-manifest.ts';
import { reviewOf } from '../plan/plan.ts';
import { standingRanges } from '../plan/standing-ranges.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';

export interface Exported {
  readonly offset: number;
  /**
   * The reason why the next export will rewrite a file, so that the offset is before the end of the lake. Undefined if
   * the lake ends at the offset.
   */
  readonly reason: string | undefined;
}

/**
 * A range counts if its files are as an export would write them now, and are in the folder with all their bytes. Late
 * updates and redactions could not be added to them after pruning.
 * @throws LakeError EXPORT_REFUSED if there is no lake of this database, or files of it are missing; errors of the
 *   snapshot
 */
export function exportedTo(databaseReads: Reads, folder: LakeStorage): Promise<Exported> {
  return databaseReads.inSnapshot(async (snapshot) => {
    const { facts } = snapshot;
    const manifest = await readManifest(folder, facts);
    if (manifest.head.until === null) throw refusedBy('nothing was exported into this folder yet', 'export first');
    const sources = await snapshot.tables((name) => Object.hasOwn(manifest.head.tables, name));
    const review = reviewOf(manifest, sources, facts);
    const unchangedRanges = await standingRanges(manifest.ranges(), snapshot);
    const missingFileList = await missingFiles(folder, [...manifest.files()]);
    let offset = -1;
    for (const range of unchangedRanges) {
      for (const source of sources) {
        const reason = review(range, source);
        if (reason !== undefined) return { offset, reason: `${source.name} must be rewritten: ${reason}` };
      }
      const lostRange = missingFileList.get(range.from);
      if (lostRange !== undefined) throw refusedBy(lostRange, 'restore the file, or export into another folder');
      offset = range.to;
    }
    const reason = unchangedRanges.length < manifest.rangeCount ? 'the stream was rewound after it' : undefined;
    return { offset, reason };
  });
}

/**
 * Finds files with a problem, by the first offset of their range. Each folder is listed once, because a bucket lists a
 * thousand files at a time.
 */
async function missingFiles(folder: LakeStorage, files: readonly LakeFile[]): Promise<ReadonlyMap<number, string>> {
  const fileSizes = new Map<string, number>();
  for (const table of new Set(files.map((file) => file.table))) {
    for (const [name, bytes] of await folder.sizes(table)) fileSizes.set(`${table}/${name}`, bytes);
  }
  const missingRanges = new Map<number, string>();
  for (const { path, bytes, from } of files) {
    if (path === null || fileSizes.get(path) === bytes) continue;
    const fileSize = fileSizes.get(path);
    const problem = fileSize === undefined ? 'is missing' : `has ${String(fileSize)} bytes, not ${String(bytes)}`;
    missingRanges.set(from, `${path}, which the manifest names, ${problem}`);
  }
  return missingRanges;
}
