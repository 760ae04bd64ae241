/**
 * An export that kills its process after an operation on its files, as `kill -9` does; with fewer operations it ends normally:
 * `killed-export.mjs PROGRAM TO URL SCHEMA ROWS-PER-RANGE OPERATION`, PROGRAM is the folder of the compiled program. Uses the compiled
 * package of the lake.
 */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program, to, url, schema, rowsPerRange, last] = process.argv.slice(2);
const part = (path) => import(pathToFileURL(join(resolve(program), path)).href);
const { openLake } = await import('ledger-indexer-lake/storage/open-lake');
const { exportOnce } = await import('ledger-indexer-lake/export/run-export');
const { DeltaLogs } = await import('ledger-indexer-lake/delta/delta-log');
const { openDatabase } = await part('store/connection/database.js');
const { readsOf } = await part('store/exported/snapshot.js');

let operations = 0;
const folder = await openLake(to, process.env, () => {
  operations += 1;
  if (operations === Number(last)) process.kill(process.pid, 'SIGKILL');
});
const database = openDatabase({ url, schema, statementTimeoutMs: 600_000, applicationName: 'killed export' });
await folder.prepare();
await exportOnce(readsOf(database), folder, {
  until: undefined,
  isWanted: () => true,
  stop: new AbortController().signal,
  onProgress: () => undefined,
  logs: new DeltaLogs(folder),
  rowsPerRange: Number(rowsPerRange),
});
await database.close();
