/** Mounts a disk of a few megabytes. It is a tmpfs, so only root on Linux may mount it. */
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk extends AsyncDisposable {
  /** A folder that every user can access. Its parent folders are also accessible. */
  readonly folder: string;
  grow(megabytes: number): void;
}

/** @throws Error if no disk can be mounted, see `smallDiskSkipReason` */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-disk-'));
  await chmod(folder, 0o755);
  if (!mount(`size=${String(megabytes)}m,mode=0777`, folder)) throw new Error(`a tmpfs cannot be mounted at ${folder}`);
  return {
    folder,
    grow: (to) => {
      spawnSync('mount', ['-o', `remount,size=${String(to)}m`, folder]);
    },
    [Symbol.asyncDispose]: async () => {
      spawnSync('umount', ['-l', folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether this process can mount a disk. */
function canMount(): boolean {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return false;
  const probe = join(tmpdir(), `ledger-indexer-mount-${String(process.pid)}`);
  spawnSync('mkdir', ['-p', probe]);
  const works = mount('size=1m', probe);
  if (works) spawnSync('umount', [probe]);
  spawnSync('rmdir', [probe]);
  return works;
}

function mount(options: string, mountPoint: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', mountPoint]).status === 0;
}

export const smallDiskSkipReason = canMount() ? undefined : 'needs the right to mount a tmpfs (root on Linux)';
