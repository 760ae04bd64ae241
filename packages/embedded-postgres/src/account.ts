/**
 * Under which account the server's programs run. Postgres refuses root, so root borrows another identity: a user
 * namespace in which root looks like `nobody` (files stay root's, no folder needs opening up), or, where namespaces
 * are closed, `nobody` itself.
 */
import { spawnSync } from 'node:child_process';
import type { Stats } from 'node:fs';
import { chown, lchown, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const NOBODY = 65_534;
const UNSHARE = ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`];

/** `self`: as we are. `namespace`: root behind a user namespace. `nobody`: root gives its rights up. */
export type Account = 'self' | 'namespace' | 'nobody';

/** One program start, ready for `spawn`. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** The account that works here. Costs one short process for root and nothing for everybody else. */
export function chooseAccount(): Account {
  if (process.getuid?.() !== 0) return 'self';
  return spawnSync('unshare', [...UNSHARE, 'true'], { stdio: 'ignore' }).status === 0 ? 'namespace' : 'nobody';
}

/** The command that runs `file` under `account`. */
export function commandAs(account: Account, file: string, args: readonly string[]): Command {
  if (account === 'namespace') return { file: 'unshare', args: [...UNSHARE, file, ...args] };
  return account === 'nobody' ? { file, args, uid: NOBODY, gid: NOBODY } : { file, args };
}

/** Gives `path` and everything in it to the account; does nothing when it is the account's already. */
export async function giveTo(account: Account, path: string): Promise<void> {
  if (account === 'self') return;
  const owner = account === 'nobody' ? NOBODY : 0;
  const found = await stat(path);
  if (found.uid === owner) return;
  const entries = found.isDirectory() ? await readdir(path, { recursive: true }) : [];
  for (const entry of entries) await lchown(join(path, entry), owner, owner);
  // The folder comes last: it is the sign that everything below it was handed over.
  await chown(path, owner, owner);
}

/** Whether a file is this user's; the server's files of root may be of the account that root borrows. */
export function isOurs({ uid }: Stats): boolean {
  const own = process.getuid?.();
  return uid === own || (own === 0 && uid === NOBODY);
}

/** Whether a file is closed to other users. */
export function isClosed({ mode }: Stats): boolean {
  return (mode & 0o077) === 0;
}

/** Whether an account without special rights can walk to `path`: all folders above it are open to everybody. */
export async function isReachable(path: string): Promise<boolean> {
  for (let at = await realpath(path); ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
