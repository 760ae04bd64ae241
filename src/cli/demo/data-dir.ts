/** The folder that embedded parts keep their data in. */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { IndexerError } from '../../errors/indexer-error.ts';

/**
 * Makes the folder where it is missing, one level after the other: asked for all of them at once, Node never comes back
 * from file systems that take no folders, such as /proc.
 * @throws IndexerError DATA_DIR_UNUSABLE (exit 78)
 */
export function prepareDataDir(dataDir: string): void {
  try {
    make(resolve(dataDir));
    accessSync(dataDir, constants.W_OK);
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? 'unknown';
    throw new IndexerError(`the folder ${resolve(dataDir)} cannot be used for data: ${code}`, {
      code: 'DATA_DIR_UNUSABLE',
      remedy: 'set INDEXER_DATA_DIR to a folder that this user can write to; or set DATABASE_URL and LEDGER_URL',
      cause: thrown,
    });
  }
}

function make(folder: string): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw Object.assign(new Error('a file'), { code: 'ENOTDIR' });
    return;
  }
  make(dirname(folder));
  mkdirSync(folder);
}
