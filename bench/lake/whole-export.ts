/** An export in this process that counts its operations on files. */
import { DeltaLogs } from '../../packages/lake/src/delta/delta-log.ts';
import { exportOnce } from '../../packages/lake/src/export/run-export.ts';
import { openLake } from '../../packages/lake/src/storage/open-lake.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { readsOf } from '../../src/store/exported/snapshot.ts';

interface CountedExport {
  /** Called with the number of each operation, from 1. */
  readonly onOperation?: (operation: number) => void;
  /** Credentials for a bucket. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs an export. Resolves to the number of operations on files.
 * @param rowsPerRange small enough for a small history to have several ranges
 */
export async function exportAll(
  to: string,
  database: Database,
  rowsPerRange: number,
  { onOperation = () => undefined, env = {} }: CountedExport = {},
): Promise<number> {
  let operations = 0;
  const folder = await openLake(to, env, () => {
    operations += 1;
    onOperation(operations);
  });
  await folder.prepare();
  await exportOnce(readsOf(database), folder, {
    until: undefined,
    isWanted: () => true,
    stop: new AbortController().signal,
    onProgress: () => undefined,
    logs: new DeltaLogs(folder),
    rowsPerRange,
  });
  return operations;
}
