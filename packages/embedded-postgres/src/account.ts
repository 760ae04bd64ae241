/**
 * The account under which the server's programs run. Postgres refuses to run as root, so root starts it in a user
 * namespace in which root appears as `nobody`. Files then still belong to root, and folders need no wider permissions.
 * If namespaces are disabled, the programs run as `nobody`.
 */
import { spawnSync } from 'node:child_process';
import type { Stats } from 'node:fs';
import { chown, lchown, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const NOBODY_UID = 65_534;
const UNSHARE = ['--user', `--map-user=${NOBODY_UID}`, `--map-group=${NOBODY_UID}`];

/** `self`: the current user. `namespace`: root in a user namespace. `nobody`: root that drops its rights. */
export type Account = 'self' | 'namespace' | 'nobody';

/** The command to start one program, ready for `spawn`. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** Chooses the account that works on this machine. For root, this starts one short process. */
export function chooseAccount(): Account {
  if (process.getuid?.() !== 0) return 'self';
  return spawnSync('unshare', [...UNSHARE, 'true'], { stdio: 'ignore' }).status === 0 ? 'namespace' : 'nobody';
}

/** The command that runs `file` under `account`. */
export function commandAs(account: Account, file: string, args: readonly string[]): Command {
  if (account === 'namespace') return { file: 'unshare', args: [...UNSHARE, file, ...args] };
  return account === 'nobody' ? { file, args, uid: NOBODY_UID, gid: NOBODY_UID } : { file, args };
}

/** Changes the owner of `path` and everything in it to the account, unless it is the owner already. */
export async function changeOwner(account: Account, path: string): Promise<void> {
  if (account === 'self') return;
  const owner = account === 'nobody' ? NOBODY_UID : 0;
  const stats = await stat(path);
  if (stats.uid === owner) return;
  const entries = stats.isDirectory() ? await readdir(path, { recursive: true }) : [];
  for (const entry of entries) await lchown(join(path, entry), owner, owner);
  // The folder is changed last, so that its owner indicates that everything in it has been changed.
  await chown(path, owner, owner);
}

/** Whether a file belongs to this user or, for root, to the account that root uses. */
export function isOwnedByCurrentUser({ uid }: Stats): boolean {
  const ownUid = process.getuid?.();
  return uid === ownUid || (ownUid === 0 && uid === NOBODY_UID);
}

/** Whether other users have no access to a file. */
export function isClosed({ mode }: Stats): boolean {
  return (mode & 0o077) === 0;
}

/** Whether an unprivileged account can reach `path`, because all folders above it are open to all users. */
export async function isReachable(path: string): Promise<boolean> {
  for (let ancestor = await realpath(path); ; ancestor = dirname(ancestor)) {
    if (((await stat(ancestor)).mode & 0o001) === 0) return false;
    if (ancestor === dirname(ancestor)) return true;
  }
}
