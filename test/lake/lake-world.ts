/** Exports to a temporary folder with the command, and reads the export with engines that share no code with it. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { readManifest } from '../../bench/lake/compare.ts';
import { exportCommand } from '../../src/cli/lake/export.ts';
import { runCommand } from '../support/run-command.ts';

export interface LakeDir extends Disposable {
  readonly path: string;
}

export function lakeDir(): LakeDir {
  const path = mkdtempSync(join(tmpdir(), 'lake-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Output of the command with `--json`. */
export async function exportTo(
  path: string,
  url: string,
  schema: string,
  ...argv: readonly string[]
): Promise<Record<string, unknown>> {
  const lines: string[] = [];
  const env = { DATABASE_URL: url, POSTGRES_SCHEMA: schema };
  await runCommand(exportCommand, ['--to', path, '--json', ...argv], env, { print: (line) => lines.push(line) });
  return JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
}

export interface ManifestFile {
  readonly table: string;
  readonly from: number;
  readonly to: number;
  readonly path: string | null;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string | null;
}

export interface ReadManifest {
  readonly until: number;
  readonly participant: string;
  readonly tables: Readonly<
    Record<
      string,
      { readonly columns: readonly { readonly name: string; readonly type: string }[]; readonly from?: number }
    >
  >;
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
  readonly files: readonly ManifestFile[];
}

export function manifestOf(path: string): ReadManifest {
  return readManifest(path) as ReadManifest;
}

/** Segments of the manifest, as listed in its head. */
export function segmentsOf(
  path: string,
): readonly { readonly path: string; readonly ranges: number; readonly sha256: string }[] {
  const head = JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8')) as {
    segments: ReturnType<typeof segmentsOf>;
  };
  return head.segments;
}

/** Paths of segments that are listed in the previous head but not in the current one. */
export function previousSegmentsOf(path: string): readonly string[] {
  const head = JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8')) as {
    readonly previousSegments: readonly string[];
  };
  return head.previousSegments;
}

/** Stores a manifest in one segment, with matching hash and name. */
export function writeSegmented(path: string, { ranges, files, ...head }: Pick<ReadManifest, 'ranges' | 'files'>): void {
  const text = JSON.stringify({ ranges, files });
  const sha256 = createHash('sha256').update(text).digest('hex');
  const [from, to] = [ranges[0]?.from ?? 0, ranges.at(-1)?.to ?? 0];
  const name = `segments/from=${String(from)}-to=${String(to)}-${sha256.slice(0, 16)}.json`;
  writeFileSync(join(path, name), text);
  const segments = [{ path: name, from, to, ranges: ranges.length, bytes: text.length, sha256 }];
  writeFileSync(join(path, 'manifest.json'), JSON.stringify({ ...head, segments }));
}

/** Every file below the folder, as sorted relative paths. */
export function filesIn(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();
}

/** Runs statements in one DuckDB instance; returns the rows of the last statement as JSON. */
export async function duck(...statements: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run("set timezone = 'UTC'");
    let rows: readonly Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await connection.runAndReadAll(statement)).getRowObjectsJson();
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Ids and synchronizers of the contracts active at an offset, sorted, according to `active.sql`. */
export async function activeAt(path: string, offset: number): Promise<readonly string[]> {
  const rows = await duck(
    `set variable lake = '${path}'`,
    `set variable at_offset = ${String(offset)}`,
    readFileSync(join(path, 'active.sql'), 'utf8'),
    `select contract_id || ' ' || synchronizer_id as id from lake_active order by 1`,
  );
  return rows.map(({ id }) => String(id));
}
