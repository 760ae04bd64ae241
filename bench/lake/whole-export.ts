/** An export in this process that counts its operations on files. */
import { exportOnce } from '../../src/cli/lake/run-export.ts';
import { DeltaLogs } from '../../src/lake/delta-log.ts';
import { LakeFolder } from '../../src/lake/lake-folder.ts';
import type { Database } from '../../src/store/connection/database.ts';

/**
 * Resolves to how many operations on files it took.
 * @param rowsPerRange few enough for a small history to have several ranges
 * @param onOperation told the number of each, from 1
 */
export async function exportAll(
  path: string,
  database: Database,
  rowsPerRange: number,
  onOperation: (operation: number) => void = () => undefined,
): Promise<number> {
  let operations = 0;
  const folder = new LakeFolder(path, () => {
    operations += 1;
    onOperation(operations);
  });
  await folder.prepare();
  await exportOnce(database, folder, {
    until: undefined,
    isWanted: () => true,
    stop: new AbortController().signal,
    onProgress: () => undefined,
    logs: new DeltaLogs(folder),
    rowsPerRange,
  });
  return operations;
}
