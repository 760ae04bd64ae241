/**
 * An export of the built program that kills its process after an operation on its files, as `kill -9` does:
 * `killed-export.mjs DIR URL SCHEMA ROWS-PER-RANGE OPERATION`.
 */
import { exportOnce } from '../../dist/cli/lake/run-export.js';
import { DeltaLogs } from '../../dist/lake/delta-log.js';
import { LakeFolder } from '../../dist/lake/lake-folder.js';
import { openDatabase } from '../../dist/store/connection/database.js';

const [path, url, schema, rowsPerRange, last] = process.argv.slice(2);
let operations = 0;
const folder = new LakeFolder(path, () => {
  operations += 1;
  if (operations === Number(last)) process.kill(process.pid, 'SIGKILL');
});
const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'test lake' });
await folder.prepare();
await exportOnce(database, folder, {
  until: undefined,
  isWanted: () => true,
  stop: new AbortController().signal,
  onProgress: () => undefined,
  logs: new DeltaLogs(folder),
  rowsPerRange: Number(rowsPerRange),
});
await database.close();
