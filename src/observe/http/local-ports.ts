/**
 * TCP ports of this machine. Finds free ports, and finds the process that listens on a port. Another process may take a
 * free port before it is used, so callers must be ready to retry.
 */
import { type AddressInfo, createServer } from 'node:net';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Maximum number of ports to try in sequence. */
const maxTries = 500;

/** The first free port from `first` on. If there is none, any free port. */
export async function freePortFrom(first: number, host = '127.0.0.1'): Promise<number> {
  for (let port = first; port <= Math.min(65_535, first + maxTries); port += 1) {
    if (await isFree(port, host)) return port;
  }
  return (await tryListen(0, host)) ?? first;
}

/**
 * Whether a port is free: false if a process listens there. Resolves to true for an address of another machine; an
 * attempt to listen there fails later.
 */
export async function isFree(port: number, host: string): Promise<boolean> {
  return (await tryListen(port, host)) !== undefined;
}

/** Listens briefly on the port and resolves to the port. Resolves to undefined if the port is in use. */
function tryListen(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE' ? undefined : port));
    server.listen({ port, host, exclusive: true }, () => {
      const { port: listeningPort } = server.address() as AddressInfo;
      server.close(() => resolve(listeningPort));
    });
  });
}

/** Code of a listening socket in /proc/net/tcp. */
const listening = '0A';

/**
 * Names the process, e.g. `process 812 (prometheus)`. Returns "another process" if the process cannot be determined,
 * which is the case on other systems and for processes of other users. Arguments are omitted because they may contain
 * secrets.
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
    // The process belongs to another user, or has ended.
    return false;
  }
}
