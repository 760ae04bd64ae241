/**
 * An export of the built program that kills its process after an operation on its files, as `kill -9` does:
 * `killed-export.mjs TO URL SCHEMA ROWS-PER-RANGE OPERATION`.
 */
import { openLake } from '../../dist/cli/lake/open-lake.js';
import { exportOnce } from '../../dist/cli/lake/run-export.js';
import { DeltaLogs } from '../../dist/lake/delta-log.js';
import { openDatabase } from '../../dist/store/connection/database.js';

const [to, url, schema, rowsPerRange, last] = process.argv.slice(2);
let operations = 0;
const folder = await openLake(to, process.env, () => {
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
