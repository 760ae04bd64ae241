/** Finds the embedded server that another process has started. */
import { lstat, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isClosed, isOwnedByCurrentUser } from './account.ts';
import { clusterUrl, DATABASE } from './cluster.ts';
import { runningPostmaster } from './postmaster.ts';

/**
 * Connection URL of the server that runs in `dataDir`. It includes the password, so it must not be logged. Undefined if
 * none runs there, if this user may not read its password, or if other users can access the folder. Starts and changes
 * nothing.
 */
export async function runningServerUrl(dataDir: string): Promise<string | undefined> {
  const folder = resolve(dataDir);
  try {
    const stats = await lstat(folder);
    if (!stats.isDirectory() || !isOwnedByCurrentUser(stats) || !isClosed(stats)) return undefined;
    const password = (await readFile(join(folder, 'password'), 'utf8')).trim();
    const server = await runningPostmaster({ folder: join(folder, 'cluster') });
    return server === undefined ? undefined : clusterUrl(password, server.port, DATABASE);
  } catch {
    return undefined;
  }
}
