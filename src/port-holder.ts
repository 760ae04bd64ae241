/** Who listens on a TCP port of this machine, for the message that says it is taken. Linux only, and best effort. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Of /proc/net/tcp. */
const listening = '0A';

/**
 * The process in words, e.g. `process 812 (prometheus)`; "another process" where it cannot be told: on other systems, and
 * of other users. Arguments are not shown, they may hold secrets.
 */
export function portHolder(port: number): string {
  try {
    const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => inodesOf(file, port)));
    const pid = inodes.size === 0 ? undefined : readdirSync('/proc').find((name) => holds(name, inodes));
    return pid === undefined ? 'another process' : `process ${pid} (${basename(readlinkSync(`/proc/${pid}/exe`))})`;
  } catch {
    return 'another process';
  }
}

function inodesOf(file: string, port: number): readonly string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      return state === listening && Number.parseInt(local.split(':')[1] ?? '', 16) === port ? [inode ?? ''] : [];
    });
}

function holds(pid: string, inodes: ReadonlySet<string>): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
      return inodes.has(inode);
    });
  } catch {
    // Of another user, or gone.
    return false;
  }
}
