/**
 * Checkpoints of the Delta log. The tests check when they are written, that readers use them instead of old commits,
 * and that DuckDB reads them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeltaLogs } from '../src/delta/delta-log.ts';
import type { LakeFile, NamedFile } from '../src/manifest/entries.ts';
import { Manifest } from '../src/manifest/manifest.ts';
import { LakeFolder } from '../src/storage/lake-folder.ts';

const tables = { updates: { columns: [{ name: 'offset', type: 'int64' } as const] } };

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'delta-checkpoint-'));
});
afterEach(() => rmSync(path, { recursive: true }));

const nameOf = (at: number, revision = ''): string => `from=${String(at)}-to=${String(at)}${revision}.parquet`;
const fileOf = (at: number, revision = ''): NamedFile => ({
  table: 'updates',
  from: at,
  to: at,
  path: `updates/${nameOf(at, revision)}`,
  rows: at,
  bytes: 10 + at,
  sha256: null,
  fingerprint: {},
});

/**
 * Writes commits with one file each, some of which replace the previous file. Resolves to the names of the remaining
 * files.
 */
async function commits(logs: DeltaLogs, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1) await logs.follow(tables, { added: [fileOf(at)], gone: [] });
}

/** A manifest with these files, each in a separate range. */
function manifestOfFiles(files: readonly LakeFile[]): Manifest {
  const head = { participant: null, filterHash: '', shape: '', until: null, coverage: [], tables };
  const manifest = new Manifest(head, [], true);
  for (const file of files) manifest.append({ from: file.from, to: file.to, epoch: null }, [file]);
  return manifest;
}

/** A folder that records the names of files that are read completely. */
async function watched(): Promise<{ readonly folder: LakeFolder; readonly reads: string[] }> {
  const readNames: string[] = [];
  const folder = new (class extends LakeFolder {
    override read(name: string): Promise<string | undefined> {
      readNames.push(name.replace('updates/_delta_log/', ''));
      return super.read(name);
    }
  })(path);
  await folder.prepare();
  return { folder, reads: readNames };
}

const logFolder = (): string => join(path, 'updates/_delta_log');
const checkpoints = (): readonly string[] =>
  readdirSync(logFolder())
    .filter((name) => name.endsWith('.checkpoint.parquet'))
    .map((name) => String(Number(name.slice(0, 20))));

const range = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, at) => from + at);

describe('a checkpoint', () => {
  it('is written after each hundredth commit and read instead of earlier commits', async () => {
    const { folder, reads: readNames } = await watched();
    await commits(new DeltaLogs(folder), 0, 351);
    expect(checkpoints()).toEqual(['100', '200', '300']);
    readNames.length = 0;
    await new DeltaLogs(folder).compare(manifestOfFiles(range(0, 351).map((at) => fileOf(at))));
    expect(readdirSync(logFolder()).filter((name) => name.endsWith('.json')).length).toBe(351);
    expect(readNames[0]).toBe('_last_checkpoint');
    expect(readNames.slice(1).map((name) => Number(name.slice(0, 20)))).toEqual(range(301, 352));
  });

  it('contains the files added and removed before it, and later commits follow it', async () => {
    const { folder } = await watched();
    const logs = new DeltaLogs(folder);
    await commits(logs, 0, 99);
    await logs.follow(tables, { added: [fileOf(7, '.r2')], gone: [fileOf(7)] });
    await commits(logs, 99, 105);
    expect(checkpoints()).toEqual(['100']);
    const remainingFiles = [...range(0, 105).filter((at) => at !== 7 && at !== 9), 7].map((at) =>
      fileOf(at, at === 7 ? '.r2' : ''),
    );
    await new DeltaLogs(folder).compare(manifestOfFiles(remainingFiles.toSorted((a, b) => a.from - b.from)));
    const last = readFileSync(join(logFolder(), `${'106'.padStart(20, '0')}.json`), 'utf8');
    expect(
      last
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual([{ remove: { path: nameOf(9), deletionTimestamp: expect.any(Number) as number, dataChange: true } }]);
  });

  it('is written by the next run if the process was killed before it wrote one', async () => {
    const { folder } = await watched();
    await commits(new DeltaLogs(folder), 0, 150);
    for (const name of readdirSync(logFolder()).filter((file) => /checkpoint/.test(file)))
      rmSync(join(logFolder(), name));
    await new DeltaLogs(folder).compare(manifestOfFiles(range(0, 150).map((at) => fileOf(at))));
    expect(checkpoints()).toEqual(['149']);
    // An unreadable checkpoint counts as missing.
    writeFileSync(join(logFolder(), '_last_checkpoint'), '{"version":149,"sizeInBytes":7}');
    await new DeltaLogs(folder).compare(manifestOfFiles(range(0, 150).map((at) => fileOf(at))));
    expect(JSON.parse(readFileSync(join(logFolder(), '_last_checkpoint'), 'utf8'))).toMatchObject({
      version: 149,
      numOfAddFiles: 150,
      size: 152,
    });
  });

  it('has the columns of the protocol when read by DuckDB', async () => {
    const { folder } = await watched();
    const logs = new DeltaLogs(folder);
    await commits(logs, 0, 100);
    await logs.follow(tables, { added: [fileOf(7, '.r2')], gone: [fileOf(7)] });
    const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
    const file = join(logFolder(), `${'100'.padStart(20, '0')}.checkpoint.parquet`);
    const rows = (
      await connection.runAndReadAll(`select to_json(x)::varchar as row from read_parquet('${file}') x`)
    ).getRowObjectsJson();
    connection.closeSync();
    const actions = rows.map(({ row }) => JSON.parse(row as string) as Record<string, Record<string, unknown> | null>);
    const actionsFor = (name: string) =>
      actions.flatMap((action): readonly Record<string, unknown>[] => (action[name] ? [action[name]] : []));
    expect(actionsFor('protocol')).toEqual([{ minReaderVersion: 1, minWriterVersion: 2 }]);
    expect(actionsFor('metaData')).toEqual([
      expect.objectContaining({
        name: 'updates',
        format: { provider: 'parquet', options: {} },
        partitionColumns: [],
        configuration: {},
        schemaString: expect.stringContaining('"name":"offset","type":"long"') as string,
      }),
    ]);
    const names = range(0, 100).map((at) => nameOf(at, at === 7 ? '.r2' : ''));
    expect(new Set(actionsFor('add').map((add) => add['path']))).toEqual(new Set(names));
    expect(actionsFor('add')).toContainEqual({
      path: nameOf(42),
      partitionValues: {},
      size: 52,
      modificationTime: expect.any(Number) as number,
      dataChange: false,
      stats: '{"numRecords":42}',
      tags: null,
    });
    expect(actionsFor('remove')).toEqual([
      { path: nameOf(7), deletionTimestamp: expect.any(Number) as number, dataChange: false },
    ]);
    expect(actions.length).toBe(103);
  });
});
