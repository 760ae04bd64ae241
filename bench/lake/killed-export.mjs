/**
 * An export that kills its process after an operation on its files, as `kill -9` does; it ends as ever where it takes fewer:
 * `killed-export.mjs PROGRAM TO URL SCHEMA ROWS-PER-RANGE OPERATION`, PROGRAM the folder of the compiled program.
 */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program, to, url, schema, rowsPerRange, last] = process.argv.slice(2);
const part = (path) => import(pathToFileURL(join(resolve(program), path)).href);
const { openLake } = await part('cli/lake/open-lake.js');
const { exportOnce } = await part('cli/lake/run-export.js');
const { DeltaLogs } = await part('lake/delta-log.js');
const { openDatabase } = await part('store/connection/database.js');

let operations = 0;
const folder = await openLake(to, process.env, () => {
  operations += 1;
  if (operations === Number(last)) process.kill(process.pid, 'SIGKILL');
});
const database = openDatabase({ url, schema, statementTimeoutMs: 600_000, applicationName: 'killed export' });
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
