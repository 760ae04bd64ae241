/**
 * An export that kills its process after an operation on its files, as `kill -9` does:
 * `killed-export.js DIR URL OPERATION`.
 */
import { openIndexed, rowsPerRange } from './lake-database.ts';
import { exportAll } from './whole-export.ts';

const [path = '', url = '', last = '0'] = process.argv.slice(2);
await exportAll(path, openIndexed(url), rowsPerRange, {
  onOperation: (operation) => {
    if (operation === Number(last)) process.kill(process.pid, 'SIGKILL');
  },
});
