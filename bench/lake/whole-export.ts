/** An export in this process, in ranges that are short enough for a small history to have several. */
import { exportOnce } from '../../src/cli/lake/run-export.ts';
import { DeltaLogs } from '../../src/lake/delta-log.ts';
import { LakeFolder } from '../../src/lake/lake-folder.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { schema } from '../postgres.ts';

const rowsPerRange = 6_000;

/** Resolves to how many operations on files it took. @param onOperation told the number of each, from 1 */
export async function exportAll(path: string, url: string, onOperation: (operation: number) => void): Promise<number> {
  let operations = 0;
  const folder = new LakeFolder(path, () => {
    operations += 1;
    onOperation(operations);
  });
  const database = openDatabase({ url, schema, statementTimeoutMs: 600_000, applicationName: 'bench lake' });
  try {
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
  } finally {
    await database.close();
  }
}
