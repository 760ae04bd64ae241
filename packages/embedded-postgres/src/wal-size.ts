/** How much of the disk the embedded server may fill with its write-ahead log. */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

const MIB = 2 ** 20;
/** Less would end one checkpoint with the next. */
const LEAST_MIB = 128;
const MOST_MIB = 8192;

/**
 * The value of `max_wal_size`, e.g. `8192MB`: a quarter of what the log could fill, at most 8 GiB. Three quarters are left to
 * the data, and to a log that outgrows its limit for a moment: Postgres begins a checkpoint in time, but does not wait for it.
 * @param room bytes: what the disk has free, and the log itself
 */
export function maxWalSize(room: number): string {
  const quarter = Math.floor(room / 4 / MIB);
  return `${Math.min(MOST_MIB, Math.max(LEAST_MIB, quarter))}MB`;
}

/**
 * Bytes that the log of the cluster in `folder` could fill: what the disk has free for its users, and the log that is there.
 * Without the latter each start would allow less than the one before.
 */
export async function walRoom(folder: string): Promise<number> {
  const log = join(folder, 'pg_wal');
  const { bavail, bsize } = await statfs(log);
  let held = 0;
  for (const entry of await readdir(log)) held += (await stat(join(log, entry))).size;
  return bavail * bsize + held;
}
