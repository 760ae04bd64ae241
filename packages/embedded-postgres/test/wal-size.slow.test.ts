/** The write-ahead log of the embedded server leaves disk space for the data, even on a small disk. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { query } from '../../../test/support/database.ts';
import { mountSmallDisk, smallDiskSkipReason } from '../../../test/ha/small-disk.ts';
import { startEmbeddedPostgres } from '../src/embedded-postgres.ts';
import { maxWalSize, walFreeBytes } from '../src/wal-size.ts';
import { needs } from '../../../test/support/skips/needs.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

it.each([
  [0, '128MB'],
  [GIB, '256MB'],
  [5 * GIB, '1280MB'],
  [31 * GIB, '7936MB'],
  [500 * GIB, '8192MB'],
])('with %i bytes available to the WAL, max_wal_size is %s', (freeBytes, expected) => {
  expect(maxWalSize(freeBytes)).toBe(expected);
});

describe('the WAL on a small disk', needs(smallDiskSkipReason), () => {
  it('counts as free space, so that each start computes the same max_wal_size', async () => {
    await using disk = await mountSmallDisk(400);
    const log = join(disk.folder, 'pg_wal');
    await mkdir(join(log, 'archive_status'), { recursive: true });
    expect((await walFreeBytes(disk.folder)) / MIB).toBeCloseTo(400, -1);
    await writeFile(join(log, '000000010000000000000001'), Buffer.alloc(200 * MIB));
    expect((await walFreeBytes(disk.folder)) / MIB).toBeCloseTo(400, -1);
    await writeFile(join(disk.folder, 'data'), Buffer.alloc(100 * MIB));
    expect((await walFreeBytes(disk.folder)) / MIB).toBeCloseTo(300, -1);
  });

  it('may exceed the size of the disk in total', { timeout: 120_000 }, async () => {
    await using disk = await mountSmallDisk(640);
    await using server = await startEmbeddedPostgres({
      dataDir: join(disk.folder, 'postgres'),
      settings: { fsync: 'off' },
    });
    await query(server.url, 'CREATE TABLE t (a text)');
    const [beginRow] = await query(server.url, 'SELECT pg_current_wal_lsn()::text AS at');
    for (let round = 0; round < 30; round += 1) {
      await query(server.url, `INSERT INTO t SELECT repeat(md5(i::text), 60) FROM generate_series(1, 16000) i`);
      await query(server.url, 'TRUNCATE t');
    }
    const since = String(beginRow?.['at']);
    const [writtenRow] = await query(server.url, `SELECT (pg_current_wal_lsn() - '${since}'::pg_lsn)::float8 AS bytes`);
    expect(Number(writtenRow?.['bytes'])).toBeGreaterThan(640 * MIB);
  });
});
