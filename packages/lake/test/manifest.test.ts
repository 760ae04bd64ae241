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
async function grow(manifest: Manifest): Promise<readonly string[]> {
  const from = (manifest.head.until ?? -1) + 1;
  manifest.setHead({ until: from + 9, tables });
  manifest.append({ from, to: from + 9, epoch: 1 }, [fileOf('updates', from), fileOf('contracts', from)]);
  return await manifest.save(folder);
}

async function grown(ranges: number): Promise<Manifest> {
  const manifest = await readManifest(folder, identity);
  for (let at = 0; at < ranges; at += 1) await folder.remove(await grow(manifest));
  return manifest;
}

const segments = (): readonly string[] => readdirSync(join(path, 'segments')).sort();
const head = () =>
  JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8')) as {
    segments: { path: string; ranges: number }[];
    previousSegments: string[];
  };
const read = () => readManifest(folder, identity);

describe('a manifest in segments', () => {
  it('is read as it was written, and new ranges are appended to its last segment', async () => {
    const manifest = await grown(250);
    const again = await read();
    expect(again.head).toEqual(manifest.head);
    expect(again.ranges()).toEqual(manifest.ranges());
    expect([...again.files()].length).toBe(500);
    expect(again.file('contracts', 2490)).toEqual(fileOf('contracts', 2490));
    expect(head().segments.map(({ ranges }) => ranges)).toEqual([100, 100, 50]);
    const [first, second] = segments();
    await folder.remove(await grow(again));
    expect(segments()).toEqual(expect.arrayContaining([first, second]));
    expect(head().segments.map(({ ranges }) => ranges)).toEqual([100, 100, 51]);
    // The previous segment is also kept, because a reader may have read the previous head.
    expect(segments().length).toBe(4);
  });

  it('writes only the last segment and the head for a new range', async () => {
    const manifest = await grown(250);
    operations.length = 0;
    await grow(manifest);
    const named = operations.filter((operation) => operation.startsWith('rename to '));
    expect(named).toEqual([expect.stringMatching(/segments\/from=2000-to=2509-/), 'rename to manifest.json']);
  });

  it('is unchanged for readers until the new head is written', async () => {
    const manifest = await grown(3);
    const before = readFileSync(join(path, 'manifest.json'), 'utf8');
    await grow(manifest);
    // State after a process was killed before it renamed the head: segments of both heads exist.
    writeFileSync(join(path, 'manifest.json'), before);
    expect((await read()).head.until).toBe(29);
  });

  it('writes the segment of a replaced file under a new name, and returns the previous one for removal', async () => {
    const manifest = await grown(250);
    const [first, second] = segments();
    const change = manifest.put([fileOf('contracts', 1200, '.r2')]);
    expect(change).toMatchObject({
      added: [{ path: 'contracts/from=1200-to=1209.r2.parquet' }],
      gone: [fileOf('contracts', 1200)],
    });
    await manifest.save(folder);
    expect(head().previousSegments).toEqual([`segments/${second ?? ''}`]);
    expect(segments()).toContain(first);
    expect((await read()).file('contracts', 1200)?.path).toBe('contracts/from=1200-to=1209.r2.parquet');
    // If the segment has its original content again, it has its original name again.
    manifest.put([fileOf('contracts', 1200)]);
    await manifest.save(folder);
    expect(head().segments[1]?.path).toBe(`segments/${second ?? ''}`);
  });

  it('drops truncated ranges with their files', async () => {
    const manifest = await grown(250);
    const { gone } = manifest.truncate(120);
    expect(gone.length).toBe(260);
    await manifest.save(folder);
    expect((await read()).rangeCount).toBe(120);
    expect((await read()).file('updates', 1200)).toBeUndefined();
    await grow(manifest);
    expect(head().segments.map(({ ranges }) => ranges)).toEqual([100, 21]);
  });
});

describe('a reader during an export', () => {
  it('finds every segment of the previous head', async () => {
    const manifest = await grown(3);
    const before = head();
    await folder.remove(await grow(manifest));
    for (const { path: name } of before.segments) expect(segments()).toContain(name.slice('segments/'.length));
    await folder.remove(await grow(manifest));
    expect(segments()).not.toContain(before.segments[0]?.path.slice('segments/'.length));
  });

  it('restarts with the current head if segments of an older one are gone', async () => {
    const manifest = await grown(3);
    const slow = Object.create(folder) as typeof folder;
    let heads = 0;
    slow.read = async (name) => {
      const text = await folder.read(name);
      if (name === 'manifest.json' && (heads += 1) === 1) {
        for (let more = 0; more < 3; more += 1) await folder.remove(await grow(manifest));
      }
      return text;
    };
    expect((await readManifest(slow, identity)).rangeCount).toBe(6);
  });

  it('refuses a head in which the previous segment has an invalid name', async () => {
    await grown(2);
    const text = readFileSync(join(path, 'manifest.json'), 'utf8');
    writeFileSync(
      join(path, 'manifest.json'),
      text.replace(/"previousSegments": .*/, '"previousSegments": ["contracts/x.parquet"]'),
    );
    await expect(read()).rejects.toMatchObject({ code: 'EXPORT_REFUSED' });
  });
});

describe('a segment that does not match the head', () => {
  it('is refused if it is missing or changed, or has an invalid name', async () => {
    await grown(2);
    const file = join(path, head().segments[0]?.path ?? '');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"rows":1', '"rows":2'));
    await expect(read()).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringContaining('SHA-256') as string,
    });
    rmSync(file);
    await expect(read()).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringContaining('is missing') as string,
    });
    for (const other of ['../secret.json', 'segments/../../secret.json', 'manifest.json']) {
      const changed = readFileSync(join(path, 'manifest.json'), 'utf8').replace(
        JSON.stringify(head().segments[0]?.path),
        JSON.stringify(other),
      );
      const before = readFileSync(join(path, 'manifest.json'), 'utf8');
      writeFileSync(join(path, 'manifest.json'), changed);
      await expect(read()).rejects.toMatchObject({
        code: 'EXPORT_REFUSED',
        message: expect.stringContaining(other) as string,
      });
      writeFileSync(join(path, 'manifest.json'), before);
    }
  });
});

describe('a lake whose manifest was one file', () => {
  it('is read, and is stored in segments with the next range', async () => {
    const manifest = await grown(150);
    const { files, ranges } = { files: [...manifest.files()], ranges: manifest.ranges() };
    rmSync(join(path, 'segments'), { recursive: true });
    const old = { format: 'ledger-indexer lake', version: 1, ...manifest.head, ranges, files };
    writeFileSync(join(path, 'manifest.json'), JSON.stringify(old));
    const again = await read();
    expect(again.isStored).toBe(false);
    expect(again.ranges()).toEqual(ranges);
    expect([...again.files()]).toEqual(files);
    await grow(again);
    expect(head().segments.map(({ ranges: count }) => count)).toEqual([100, 51]);
    expect((await read()).isStored).toBe(true);
  });
});
