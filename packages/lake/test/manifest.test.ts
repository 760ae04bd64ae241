/** A manifest in segments: writes of a new range, the state after a kill, and lakes with a manifest in one file. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LakeFile } from '../src/manifest/entries.ts';
import type { Manifest } from '../src/manifest/manifest.ts';
import { readManifest } from '../src/manifest/read-manifest.ts';
import { LakeFolder } from '../src/storage/lake-folder.ts';

const identity = { participant: 'p', filterHash: 'f', shape: 's' };
const tables = { updates: { columns: [] }, contracts: { columns: [] } };

let path: string;
let folder: LakeFolder;
let operations: string[];
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'manifest-'));
  operations = [];
  folder = new LakeFolder(path, (operation) => operations.push(operation));
  await folder.prepare();
});
afterEach(() => rmSync(path, { recursive: true }));

const fileOf = (table: string, from: number, revision = ''): LakeFile => ({
  table,
  from,
  to: from + 9,
  path: `${table}/from=${String(from)}-to=${String(from + 9)}${revision}.parquet`,
  rows: 1,
  bytes: 10,
  sha256: 'a'.repeat(64),
  fingerprint: {},
});

/** Publishes a range of ten offsets, as an export does. Resolves to the segments to which no head refers any more. */
async function addRange(manifest: Manifest): Promise<readonly string[]> {
  const from = (manifest.head.until ?? -1) + 1;
  manifest.setHead({ until: from + 9, tables });
  manifest.append({ from, to: from + 9, epoch: 1 }, [fileOf('updates', from), fileOf('contracts', from)]);
  return await manifest.save(folder);
}

async function manifestOfRanges(ranges: number): Promise<Manifest> {
  const manifest = await readManifest(folder, identity);
  for (let index = 0; index < ranges; index += 1) await folder.remove(await addRange(manifest));
  return manifest;
}

const segments = (): readonly string[] => readdirSync(join(path, 'segments')).sort();
const head = () =>
  JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8')) as {
    segments: { path: string; ranges: number }[];
    previousSegments: string[];
  };
const reloadManifest = () => readManifest(folder, identity);

describe('a manifest in segments', () => {
  it('is read as it was written, and new ranges are appended to its last segment', async () => {
    const manifest = await manifestOfRanges(250);
    const reloadedManifest = await reloadManifest();
    expect(reloadedManifest.head).toEqual(manifest.head);
    expect(reloadedManifest.ranges()).toEqual(manifest.ranges());
    expect([...reloadedManifest.files()].length).toBe(500);
    expect(reloadedManifest.file('contracts', 2490)).toEqual(fileOf('contracts', 2490));
    expect(head().segments.map(({ ranges }) => ranges)).toEqual([100, 100, 50]);
    const [first, second] = segments();
    await folder.remove(await addRange(reloadedManifest));
    expect(segments()).toEqual(expect.arrayContaining([first, second]));
    expect(head().segments.map(({ ranges }) => ranges)).toEqual([100, 100, 51]);
    // The previous segment is also kept, because a reader may have read the previous head.
    expect(segments().length).toBe(4);
  });

  it('writes only the last segment and the head for a new range', async () => {
    const manifest = await manifestOfRanges(250);
    operations.length = 0;
    await addRange(manifest);
    const namedOperations = operations.filter((operation) => operation.startsWith('rename to '));
    expect(namedOperations).toEqual([expect.stringMatching(/segments\/from=2000-to=2509-/), 'rename to manifest.json']);
  });

  it('is unchanged for readers until the new head is written', async () => {
    const manifest = await manifestOfRanges(3);
    const manifestText = readFileSync(join(path, 'manifest.json'), 'utf8');
    await addRange(manifest);
    // State after a process was killed before it renamed the head: segments of both heads exist.
    writeFileSync(join(path, 'manifest.json'), manifestText);
    expect((await reloadManifest()).head.until).toBe(29);
  });

  it('writes the segment of a replaced file under a new name, and returns the previous one for removal', async () => {
    const manifest = await manifestOfRanges(250);
    const [first, second] = segments();
    const change = manifest.put([fileOf('contracts', 1200, '.r2')]);
    expect(change).toMatchObject({
      added: [{ path: 'contracts/from=1200-to=1209.r2.parquet' }],
      gone: [fileOf('contracts', 1200)],
    });
    await manifest.save(folder);
    expect(head().previousSegments).toEqual([`segments/${second ?? ''}`]);
    expect(segments()).toContain(first);
    expect((await reloadManifest()).file('contracts', 1200)?.path).toBe('contracts/from=1200-to=1209.r2.parquet');
    // If the segment has its original content again, it has its original name again.
    manifest.put([fileOf('contracts', 1200)]);
    await manifest.save(folder);
    expect(head().segments[1]?.path).toBe(`segments/${second ?? ''}`);
  });

  it('drops truncated ranges with their files', async () => {
    const manifest = await manifestOfRanges(250);
    const { gone: removedFiles } = manifest.truncate(120);
    expect(removedFiles.length).toBe(260);
    await manifest.save(folder);
    expect((await reloadManifest()).rangeCount).toBe(120);
    expect((await reloadManifest()).file('updates', 1200)).toBeUndefined();
    await addRange(manifest);
    expect(head().segments.map(({ ranges }) => ranges)).toEqual([100, 21]);
  });
});

describe('a reader during an export', () => {
  it('finds every segment of the previous head', async () => {
    const manifest = await manifestOfRanges(3);
    const headBefore = head();
    await folder.remove(await addRange(manifest));
    for (const { path: name } of headBefore.segments) expect(segments()).toContain(name.slice('segments/'.length));
    await folder.remove(await addRange(manifest));
    expect(segments()).not.toContain(headBefore.segments[0]?.path.slice('segments/'.length));
  });

  it('restarts with the current head if segments of an older one are gone', async () => {
    const manifest = await manifestOfRanges(3);
    const slowFolder = Object.create(folder) as typeof folder;
    let heads = 0;
    slowFolder.read = async (name) => {
      const text = await folder.read(name);
      if (name === 'manifest.json' && (heads += 1) === 1) {
        for (let index = 0; index < 3; index += 1) await folder.remove(await addRange(manifest));
      }
      return text;
    };
    expect((await readManifest(slowFolder, identity)).rangeCount).toBe(6);
  });

  it('refuses a head in which the previous segment has an invalid name', async () => {
    await manifestOfRanges(2);
    const text = readFileSync(join(path, 'manifest.json'), 'utf8');
    writeFileSync(
      join(path, 'manifest.json'),
      text.replace(/"previousSegments": .*/, '"previousSegments": ["contracts/x.parquet"]'),
    );
    await expect(reloadManifest()).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
  });
});

describe('a segment that does not match the head', () => {
  it('is refused if it is missing or changed, or has an invalid name', async () => {
    await manifestOfRanges(2);
    const file = join(path, head().segments[0]?.path ?? '');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"rows":1', '"rows":2'));
    await expect(reloadManifest()).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringContaining('SHA-256') as string,
    });
    rmSync(file);
    await expect(reloadManifest()).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringContaining('is missing') as string,
    });
    for (const otherPath of ['../secret.json', 'segments/../../secret.json', 'manifest.json']) {
      const changedManifest = readFileSync(join(path, 'manifest.json'), 'utf8').replace(
        JSON.stringify(head().segments[0]?.path),
        JSON.stringify(otherPath),
      );
      const manifestText = readFileSync(join(path, 'manifest.json'), 'utf8');
      writeFileSync(join(path, 'manifest.json'), changedManifest);
      await expect(reloadManifest()).rejects.toMatchObject({
        code: 'EXPORT_REFUSED',
        message: expect.stringContaining(otherPath) as string,
      });
      writeFileSync(join(path, 'manifest.json'), manifestText);
    }
  });
});

describe('a lake whose manifest was one file', () => {
  it('is read, and is stored in segments with the next range', async () => {
    const manifest = await manifestOfRanges(150);
    const { files, ranges } = { files: [...manifest.files()], ranges: manifest.ranges() };
    rmSync(join(path, 'segments'), { recursive: true });
    const old = { format: 'ledger-indexer lake', version: 1, ...manifest.head, ranges, files };
    writeFileSync(join(path, 'manifest.json'), JSON.stringify(old));
    const reloadedManifest = await reloadManifest();
    expect(reloadedManifest.isStored).toBe(false);
    expect(reloadedManifest.ranges()).toEqual(ranges);
    expect([...reloadedManifest.files()]).toEqual(files);
    await addRange(reloadedManifest);
    expect(head().segments.map(({ ranges: count }) => count)).toEqual([100, 51]);
    expect((await reloadManifest()).isStored).toBe(true);
  });
});
