/**
 * TCP ports of this machine: which are free now, and who listens on one that is not. Somebody else may take a free one
 * before it is used, so be ready to ask again.
 */
import { type AddressInfo, createServer } from 'node:net';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** How many ports are tried one after the other. */
const tries = 500;

/** The first free port from this one on; any that is free where there is none. */
export async function freePortFrom(first: number, host = '127.0.0.1'): Promise<number> {
  for (let port = first; port <= Math.min(65_535, first + tries); port += 1) {
    if (await isFree(port, host)) return port;
  }
  return (await listened(0, host)) ?? first;
}

/** False when somebody listens there. An address that is none of ours is not judged: whoever listens there finds out. */
export async function isFree(port: number, host: string): Promise<boolean> {
  return (await listened(port, host)) !== undefined;
}

/** The port that was listened on for a moment; undefined when somebody else does. */
function listened(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE' ? undefined : port));
    server.listen({ port, host, exclusive: true }, () => {
      const { port: taken } = server.address() as AddressInfo;
      server.close(() => resolve(taken));
    });
  });
}

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
