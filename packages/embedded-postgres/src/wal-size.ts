/** Disk space that the embedded server may use for its write-ahead log. */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

const MIB = 2 ** 20;
/** With less space, checkpoints would follow each other immediately. */
const LEAST_MIB = 128;
const MOST_MIB = 8192;

/**
 * The value of `max_wal_size`, e.g. `8192MB`: a quarter of the space available to the WAL, at most 8 GiB. Three
 * quarters are left for the data, and for WAL beyond this limit: Postgres starts a checkpoint in time, but does not wait
 * until it is complete. The argument is in bytes: the free space of the disk plus the size of the WAL.
 */
export function maxWalSize(freeBytes: number): string {
  const quarterMiB = Math.floor(freeBytes / 4 / MIB);
  return `${Math.min(MOST_MIB, Math.max(LEAST_MIB, quarterMiB))}MB`;
}

/**
 * Bytes available to the log of the cluster in `folder`: the free disk space for its users, and the existing log.
 * Without the existing log, each start would allow less than the previous one.
 */
export async function walFreeBytes(folder: string): Promise<number> {
  const log = join(folder, 'pg_wal');
  const { bavail, bsize } = await statfs(log);
  let segmentBytes = 0;
  for (const entry of await readdir(log)) segmentBytes += (await stat(join(log, entry))).size;
  return bavail * bsize + segmentBytes;
}
