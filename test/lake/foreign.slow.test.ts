/** Other users can write to the export folder. The export must not read, write or remove files outside of it. */
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemasOfFile } from '../support/schemas.ts';
import { startHistory, exportInRanges, updates } from './small-history.ts';
import {
  exportTo,
  filesIn,
  lakeDir,
  manifestOf,
  writeSegmented,
  type LakeDir,
  type ReadManifest,
} from './lake-world.ts';

const schemas = schemasOfFile();
let exported: LakeDir;
beforeAll(async () => {
  exported = lakeDir();
  await startHistory(schemas, 'foreign', updates());
  await exportInRanges(join(exported.path, 'lake'), schemas.url, 'foreign', 9);
});
afterAll(() => {
  exported[Symbol.dispose]();
});

/** Creates a copy of the export folder, and next to it a folder with files that are not part of the export. */
function world(): Disposable & { readonly lake: string; readonly elsewhere: string } {
  const dir = lakeDir();
  const [lake, outsideFolder] = [join(dir.path, 'lake'), join(dir.path, 'elsewhere')];
  mkdirSync(outsideFolder);
  writeFileSync(join(outsideFolder, 'precious'), 'kept');
  writeFileSync(join(outsideFolder, 'from=0-to=3.parquet'), 'kept');
  cpSync(join(exported.path, 'lake'), lake, { recursive: true });
  return { lake, elsewhere: outsideFolder, [Symbol.dispose]: () => dir[Symbol.dispose]() };
}

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder).map((name) => `${name} ${readFileSync(join(folder, name), 'utf8')}`);

const isKept = ['from=0-to=3.parquet kept', 'precious kept'];

describe('a manifest', () => {
  const withPath = (path: string) => (manifest: ReadManifest) => ({
    ...manifest,
    files: manifest.files.map((file) =>
      file.table === 'contracts' && file.from === 0 ? { ...file, path, marks: { redacted: 99, late: 99 } } : file,
    ),
  });
  const forms = {
    'in one file': (lake: string, manifest: ReadManifest) =>
      writeFileSync(join(lake, 'manifest.json'), JSON.stringify({ ...manifest, version: 1 })),
    'in segments': writeSegmented,
  };
  describe.each(Object.entries(forms))('stored %s', (_formName, write) => {
    it('is accepted if it names only files of the export', async () => {
      using folders = world();
      write(folders.lake, manifestOf(folders.lake));
      await expect(exportTo(folders.lake, schemas.url, 'foreign')).resolves.toMatchObject({ files: 0 });
      expect(manifestOf(folders.lake)).toEqual(manifestOf(join(exported.path, 'lake')));
      const otherFilesOf = (lake: string) => filesIn(lake).filter((name) => !name.startsWith('segments/'));
      expect(otherFilesOf(folders.lake)).toEqual(otherFilesOf(join(exported.path, 'lake')));
    });

    it.each<[string, (manifest: ReadManifest) => object]>([
      ['a file outside the export', withPath('../elsewhere/precious')],
      [
        'a file outside the export with the name of an export file',
        withPath('contracts/../../elsewhere/from=0-to=3.parquet'),
      ],
      ['a file of another range', withPath('contracts/from=4-to=6.parquet')],
      ['a file of another table', withPath('exercises/from=0-to=3.parquet')],
      [
        'a table outside the export',
        (manifest) => ({ ...manifest, tables: { ...manifest.tables, '../elsewhere': { columns: [] } } }),
      ],
      ['a value that is not a list', (manifest) => ({ ...manifest, files: {} })],
    ])('is rejected without changes if it contains %s', async (_, change) => {
      using folders = world();
      const { lake, elsewhere } = folders;
      write(lake, change(manifestOf(lake)) as ReadManifest);
      const before = filesIn(lake);
      await expect(exportTo(lake, schemas.url, 'foreign')).rejects.toMatchObject({
        code: 'EXPORT_REFUSED',
        message: expect.stringMatching(/does not belong to the lake|has a table|lacks/) as string,
      });
      expect(filesOf(elsewhere)).toEqual(isKept);
      expect(filesIn(lake)).toEqual(before);
    });
  });
});

describe('a symbolic link in an export folder', () => {
  it.each(['.tmp', 'contracts', 'contracts/_delta_log', 'segments'])('is rejected as %s', async (name) => {
    using folders = world();
    const { lake, elsewhere } = folders;
    rmSync(join(lake, name), { recursive: true });
    symlinkSync(elsewhere, join(lake, name));
    await expect(exportTo(lake, schemas.url, 'foreign')).rejects.toHaveProperty('code', 'EXPORT_REFUSED');
    expect(filesOf(elsewhere)).toEqual(isKept);
  });

  it('is rejected as manifest.json', async () => {
    using folders = world();
    const { lake, elsewhere } = folders;
    renameSync(join(lake, 'manifest.json'), join(elsewhere, 'manifest.json'));
    symlinkSync(join(elsewhere, 'manifest.json'), join(lake, 'manifest.json'));
    await expect(exportTo(lake, schemas.url, 'foreign')).rejects.toHaveProperty('code', 'EXPORT_REFUSED');
  });
});

it('export reports an error of the file system as EXPORT_UNWRITABLE', async () => {
  using folders = world();
  const { lake } = folders;
  rmSync(join(lake, 'updates'), { recursive: true });
  writeFileSync(join(lake, 'updates'), 'a file where a folder belongs');
  await expect(exportTo(lake, schemas.url, 'foreign')).rejects.toMatchObject({
    code: 'EXPORT_UNWRITABLE',
    message: expect.stringMatching(/^the lake cannot be written: ENOTDIR/) as string,
  });
});

describe('files and folders of an export', () => {
  const modes = (folder: string): ReadonlySet<string> =>
    new Set(
      readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
        const mode = (lstatSync(join(entry.parentPath, entry.name)).mode & 0o777).toString(8);
        return `${entry.isDirectory() ? 'folder' : 'file'} ${mode}`;
      }),
    );

  it('are accessible to their owner only', () => {
    const lake = join(exported.path, 'lake');
    expect(lstatSync(lake).mode & 0o777).toBe(0o700);
    expect(modes(lake)).toEqual(new Set(['folder 700', 'file 600']));
  });

  it('have group rights if the export folder has group rights', async () => {
    using dir = lakeDir();
    chmodSync(dir.path, 0o750);
    await exportTo(dir.path, schemas.url, 'foreign');
    expect(modes(dir.path)).toEqual(new Set(['folder 750', 'folder 700', 'file 640']));
  });
});
