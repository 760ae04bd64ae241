/** Every operation on the files of an export as the last one of its process, and what the next export makes of it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { say } from '../figures/terminal.ts';
import { openIndexed, rowsPerRange } from './lake-database.ts';
import { exportAll } from './whole-export.ts';

const run = promisify(execFile);
const program = fileURLToPath(new URL('killed-export.js', import.meta.url));

export interface Crashes {
  readonly points: number;
  /** Those after which the manifest, the files and the logs became what they are without a kill. */
  readonly equal: number;
}

export async function crashEverywhere(url: string, folder: string): Promise<Crashes> {
  const whole = mkdtempSync(join(folder, 'lake-'));
  const database = openIndexed(url);
  const points = await exportAll(whole, database, rowsPerRange);
  const wanted = stateOf(whole);
  let equal = 0;
  for (let point = 1; point <= points; point += 1) {
    say(`killed after operation ${String(point)} of ${String(points)}`);
    const dir = mkdtempSync(join(folder, 'lake-'));
    await killed(dir, url, point);
    await exportAll(dir, database, rowsPerRange);
    if (stateOf(dir) === wanted) equal += 1;
    rmSync(dir, { recursive: true });
  }
  rmSync(whole, { recursive: true });
  await database.close();
  return { points, equal };
}

async function killed(dir: string, url: string, operation: number): Promise<void> {
  const ended: unknown = await run(process.execPath, [program, dir, url, String(operation)]).catch(
    (thrown: unknown) => thrown,
  );
  if (ended instanceof Error && Reflect.get(ended, 'signal') === 'SIGKILL') return;
  throw new Error(`the export was not killed after operation ${String(operation)}`, { cause: ended });
}

/** The manifest, and the names of all files. */
function stateOf(dir: string): string {
  const manifest = join(dir, 'manifest.json');
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
  return JSON.stringify([existsSync(manifest) ? readFileSync(manifest, 'utf8') : '', names]);
}
