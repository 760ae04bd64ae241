/**
 * Changes to exported history: redactions, late updates and resets. The next export rewrites only the files of affected
 * ranges. No file contains removed contents.
 */
import { describe, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { resetTo } from '../../src/store/history/reset.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { storeLate } from '../../src/store/write/late-update.ts';
import { openSession } from '../../src/store/write/session.ts';
import * as frames from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';
import { startHistory, create, exportInRanges, filesWith, updates, write } from './small-history.ts';
import { activeAt, duck, exportTo, lakeDir, manifestOf, type ManifestFile } from './lake-world.ts';

const schemas = schemasOfFile();

const filePaths = (files: readonly ManifestFile[]): readonly string[] =>
  files.flatMap(({ path }) => (path === null ? [] : [path]));

describe('redacted contents', () => {
  it('are removed by the next export, which replaces only the files of their ranges', async () => {
    using dir = lakeDir();
    const database = await startHistory(schemas, 'redacted', updates());
    await exportInRanges(dir.path, schemas.url, 'redacted', 9);
    const manifestBefore = manifestOf(dir.path);
    expect((await filesWith(dir.path, 'SECRET-00c2')).length).toBeGreaterThan(2);
    await redact(
      database,
      { subject: { kind: 'contract', contractId: '00c2' }, reason: 'r', active: false, exercises: true },
      new AbortController().signal,
    );
    const result = await exportTo(dir.path, schemas.url, 'redacted');
    expect(await filesWith(dir.path, 'SECRET-00c2')).toEqual([]);
    expect((await filesWith(dir.path, 'SECRET-00c1')).length).toBeGreaterThan(2);
    const manifestAfter = manifestOf(dir.path);
    const replacedPaths = filePaths(manifestBefore.files).filter(
      (path) => !filePaths(manifestAfter.files).includes(path),
    );
    // The contract was created in the first range and archived in the second one.
    expect(replacedPaths.sort()).toEqual([
      'contracts/from=0-to=3.parquet',
      'exercises/from=4-to=6.parquet',
      'interface_views/from=0-to=3.parquet',
    ]);
    expect(result).toMatchObject({ rewritten: 3 });
    expect(await exportTo(dir.path, schemas.url, 'redacted')).toMatchObject({ files: 0 });
  });
});

describe('a late update', () => {
  it('is exported to the file of its range, and ends the contracts that it archives', async () => {
    using dir = lakeDir();
    const list = updates();
    const database = await schemas.migrated('late');
    const session = await openSession(database, identity);
    await session.publishSeed(0, 'genesis');
    await write(database, 0, list.slice(0, 4));
    const writer = await openSession(database, identity);
    const frame = Buffer.from(frames.text(list[4] ?? {}));
    await writer.quarantine({ offset: 5, code: 'X', problem: 'x', frame }, 4);
    await write(database, 5, list.slice(5));
    await exportInRanges(dir.path, schemas.url, 'late', 9);
    expect(await activeAt(dir.path, 9)).toContain(`00c2 ${frames.here}`);
    const manifestBefore = manifestOf(dir.path);
    await storeLate(database, decodeUpdate(frame.toString()));
    await exportTo(dir.path, schemas.url, 'late');
    expect(await activeAt(dir.path, 9)).not.toContain(`00c2 ${frames.here}`);
    expect(await activeAt(dir.path, 4)).toContain(`00c2 ${frames.here}`);
    const manifestAfter = manifestOf(dir.path);
    const filesFrom =
      (from: number) =>
      ({ files }: typeof manifestAfter) =>
        filePaths(files.filter((file) => file.from === from));
    expect(filesFrom(0)(manifestAfter)).toEqual(filesFrom(0)(manifestBefore));
    expect(manifestAfter.files.find(({ table, from }) => table === 'exercises' && from === 4)?.rows).toBe(1);
    expect(await exportTo(dir.path, schemas.url, 'late')).toMatchObject({ files: 0 });
  });
});

describe('reset history', () => {
  it('is removed by the next export, and later updates are exported', async () => {
    using dir = lakeDir();
    const database = await startHistory(schemas, 'undone', updates());
    await exportInRanges(dir.path, schemas.url, 'undone', 9);
    await resetTo(database, 5, 'test');
    await exportTo(dir.path, schemas.url, 'undone');
    expect(manifestOf(dir.path)).toMatchObject({ until: 5 });
    expect(await activeAt(dir.path, 5)).toEqual([`00c4 ${frames.here}`]);
    await write(database, 5, [create(6, '00d6'), create(7, '00d7')]);
    await exportTo(dir.path, schemas.url, 'undone');
    const [row] = await duck(`select list(contract_id order by contract_id) as ids from
      read_parquet([${filePaths(manifestOf(dir.path).files.filter(({ table }) => table === 'contracts'))
        .map((path) => `'${dir.path}/${path}'`)
        .join(', ')}])`);
    expect(row?.['ids']).toEqual(['00c1', '00c2', '00c4', '00d6', '00d7']);
    expect(await filesWith(dir.path, '00c9')).toEqual([]);
  });

  it('is replaced by new updates at the same offsets', async () => {
    using dir = lakeDir();
    const database = await startHistory(schemas, 'again', updates());
    await exportInRanges(dir.path, schemas.url, 'again', 9);
    await resetTo(database, 7, 'test');
    await write(database, 7, [create(8, '00d8'), create(9, '00d9')]);
    await exportTo(dir.path, schemas.url, 'again');
    expect(manifestOf(dir.path).ranges.map(({ from, to }) => [from, to])).toEqual([
      [0, 3],
      [4, 6],
      [7, 9],
    ]);
    expect(await activeAt(dir.path, 9)).toEqual(
      ['00c4', '00c6', '00c7', '00d8', '00d9'].map((id) => `${id} ${frames.here}`),
    );
  });
});
