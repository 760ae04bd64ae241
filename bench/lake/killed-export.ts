/**
 * An export that kills its process after an operation on its files, as `kill -9` does:
 * `killed-export.js DIR URL OPERATION`.
 */
import { exportAll } from './whole-export.ts';

const [path = '', url = '', last = '0'] = process.argv.slice(2);
await exportAll(path, url, (operation) => {
  if (operation === Number(last)) process.kill(process.pid, 'SIGKILL');
});
