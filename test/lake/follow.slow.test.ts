/**
 * A long-running `export --follow`: it writes new files as the stream advances, writes files with several row groups,
 * and stops on a signal.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { expect, it } from 'vitest';
import { openSession } from '../../src/store/write/session.ts';
import { startDaemon } from '../e2e/runs/daemon.ts';
import * as frames from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';
import { waitFor } from '../support/wait-for.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { duck, exportTo, filesIn, lakeDir, manifestOf, segmentsOf, previousSegmentsOf } from './lake-world.ts';
import { archive, startHistory, create, write } from './small-history.ts';

const schemas = schemasOfFile();

/**
 * Waits until the export has reached the offset. The exporting process creates the folder, so it may not exist yet.
 */
async function waitForOffset(path: string, offset: number): Promise<void> {
  await waitFor(`the lake reaches offset ${String(offset)}`, () => {
    try {
      return manifestOf(path).until === offset ? true : undefined;
    } catch {
      return undefined;
    }
  });
}

/**
 * Expects that every file in the manifest has the recorded hash, and that the folder has no other Parquet file, lock or
 * unfinished file.
 */
function expectConsistent(path: string): void {
  const exportedRanges = manifestOf(path).files.flatMap((file) => (file.path === null ? [] : [file]));
  for (const file of exportedRanges) {
    const bytes = readFileSync(join(path, file.path ?? ''));
    expect(createHash('sha256').update(bytes).digest('hex'), file.path ?? '').toBe(file.sha256);
  }
  const otherFiles = filesIn(path).filter((name) => !name.includes('_delta_log/'));
  const segments = [...segmentsOf(path).map((segment) => segment.path), ...previousSegmentsOf(path)];
  expect(otherFiles).toEqual(
    [...exportedRanges.map((file) => file.path ?? ''), ...segments, 'active.sql', 'manifest.json'].sort(),
  );
}

it('export --follow writes new updates, and leaves a consistent export after SIGTERM', async () => {
  using dir = lakeDir();
  const path = join(dir.path, 'lake');
  const database = await startHistory(schemas, 'followed', [create(1, '00c1'), create(2, '00c2')]);
  const argv = ['export', '--to', path, '--follow', '--interval', '1', '--json'];
  await using daemon = startDaemon({ ledgerUrl: '', databaseUrl: schemas.url, schema: 'followed', argv });
  await waitForOffset(path, 2);
  const first = manifestOf(path).files;
  await write(database, 2, [archive(3, '00c1'), create(4, '00c4')]);
  await waitForOffset(path, 4);
  expect(manifestOf(path).files.slice(0, first.length)).toEqual(first);
  await write(database, 4, [create(5, '00c5')]);
  daemon.signal('SIGTERM');
  expect(await daemon.exited).toMatchObject({ code: expect.toSatisfy((code) => code === 0 || code === 75) as number });
  expectConsistent(path);
  await exportTo(path, schemas.url, 'followed');
  expect(manifestOf(path).until).toBe(5);
  expectConsistent(path);
  const [row] = await duck(`select count(*)::int as n from read_parquet('${path}/contracts/*.parquet')`);
  expect(row).toEqual({ n: 4 });
});

it('export writes a large range as one file of several row groups', async () => {
  using dir = lakeDir();
  const database = await schemas.migrated('large');
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  // Texts that compress badly, so that the file needs several row groups.
  const noteAt = (offset: number): string =>
    createHash('sha512').update(String(offset)).digest('hex').repeat(2).padEnd(100_000, String(offset));
  for (let offset = 1; offset <= 60; offset += 1) {
    const event = { offset, contractId: `00c${String(offset + 100)}`, createArgument: { note: noteAt(offset) } };
    batch.add(decodeUpdate(frames.text(frames.transaction(offset, [{ CreatedEvent: frames.created(event) }]))));
  }
  await session.writeBatch(batch, 0);
  await exportTo(dir.path, schemas.url, 'large');
  const file = join(dir.path, 'contracts/from=0-to=60.parquet');
  const { row_groups: groups } = await parquetMetadataAsync(await asyncBufferFromFile(file));
  expect(groups.length).toBeGreaterThan(2);
  const rows = await duck(
    `select created_at_offset::int as "offset", payload ->> '$.note' as note from read_parquet('${file}') order by 1`,
  );
  expect(rows.map((row) => row['offset'])).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(rows.every((row) => row['note'] === noteAt(Number(row['offset'])))).toBe(true);
});
