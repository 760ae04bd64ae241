/**
 * Exports in processes of their own that are killed after an operation on their files, and checks of the resulting
 * files.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { readManifest } from './compare.ts';

const run = promisify(execFile);
const script = resolve('bench/lake/killed-export.mjs');

export interface KilledExport {
  /** Folder of the compiled program: `dist` for the tests, that of the benchmark for the benchmark. */
  readonly program: string;
  /** Folder of the lake, or `s3://BUCKET/PREFIX`. */
  readonly to: string;
  readonly url: string;
  readonly schema: string;
  readonly rowsPerRange: number;
  /** Credentials for a bucket. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs an export that is killed after an operation.
 * @returns whether it was killed; false if it completed with fewer operations
 * @throws if it failed
 */
export async function killAfter(operation: number, lake: KilledExport): Promise<boolean> {
  const { program, to, url, schema, rowsPerRange, env = {} } = lake;
  const args = [script, program, to, url, schema, String(rowsPerRange), String(operation)];
  try {
    await run(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '', ...env } });
    return false;
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'signal') === 'SIGKILL') return true;
    throw error;
  }
}

/** The manifest and the names of all files, as text. The name of a segment contains the hash of its text. */
export function stateOf(dir: string): string {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = entries.map(({ parentPath, name }) => relative(dir, join(parentPath, name))).sort();
  return JSON.stringify([textOf(dir), names]);
}

interface StoredManifest {
  readonly until: number | null;
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
  readonly files: readonly StoredFile[];
}

interface StoredFile {
  readonly from: number;
  readonly path: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
}

/** Whether an incomplete lake consists of exactly the first ranges of a complete one, with all their files. */
export function isPrefixOf(dir: string, completeDir: string): boolean {
  const text = textOf(dir);
  if (text === '') return true;
  const storedManifest = readManifest(dir) as StoredManifest;
  const expected = readManifest(completeDir) as StoredManifest;
  const ranges = expected.ranges.slice(0, storedManifest.ranges.length);
  const untilOffset = ranges.at(-1)?.to ?? null;
  const files = expected.files.filter(({ from }) => untilOffset !== null && from <= untilOffset);
  if (
    JSON.stringify([storedManifest.until, storedManifest.ranges, storedManifest.files]) !==
    JSON.stringify([untilOffset, ranges, files])
  )
    return false;
  return files.every(
    ({ path, bytes }) => path === null || statSync(join(dir, path), { throwIfNoEntry: false })?.size === bytes,
  );
}

/** Number of ranges in the manifest of a lake. */
export function rangesOf(dir: string): number {
  const text = textOf(dir);
  return text === '' ? 0 : (readManifest(dir) as StoredManifest).ranges.length;
}

/** Whether every file of a lake has the contents that the manifest describes. */
export function isIntact(dir: string): boolean {
  const { files } = readManifest(dir) as StoredManifest;
  return files.every(
    ({ path, sha256 }) =>
      path === null ||
      createHash('sha256')
        .update(readFileSync(join(dir, path)))
        .digest('hex') === sha256,
  );
}

function textOf(dir: string): string {
  const manifest = join(dir, 'manifest.json');
  return existsSync(manifest) ? readFileSync(manifest, 'utf8') : '';
}
