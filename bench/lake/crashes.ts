/** Every operation on the files of an export as the last one of its process, and what the next export makes of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say } from '../figures/terminal.ts';
import { schema } from '../postgres.ts';
import { isBeginningOf, isIntact, killAfter, type KilledExport, rangesOf, stateOf } from './kill-export.ts';
import { openIndexed } from './lake-database.ts';
import { exportAll } from './whole-export.ts';

const program = fileURLToPath(new URL('../../src', import.meta.url));

export interface Crashes {
  readonly points: number;
  /** Those after which the manifest, the files and the logs became what they are without a kill. */
  readonly equal: number;
}

/** A small history: each operation is the last one of an export from the beginning, and a second export finishes it. */
export async function crashAfterEach(url: string, folder: string, rowsPerRange: number): Promise<Crashes> {
  return await besideWhole(url, folder, rowsPerRange, async (whole, points, resume) => {
    const wanted = stateOf(whole);
    let equal = 0;
    for (let point = 1; point <= points; point += 1) {
      say(`killed after operation ${String(point)} of ${String(points)}`);
      const dir = mkdtempSync(join(folder, 'lake-'));
      if (!(await killAfter(point, { ...exportOf(url, rowsPerRange), to: dir })))
        throw new Error(`the export was not killed after operation ${String(point)}`);
      await resume(dir);
      if (stateOf(dir) === wanted) equal += 1;
      rmSync(dir, { recursive: true });
    }
    return { points, equal };
  });
}

/** Operations by which each export gets further than the one before it, once the first range is done: of a range all kinds are met in turn. */
const laterStep = 13;

/**
 * A large history: one lake, which the first export leaves after one operation, the second after two and so on, each going on
 * with what the one before it left, until one comes to its end. The first range is left after every operation there is, later
 * ones after each thirteenth; what is repeated is a range each time, not all of them. After each kill the lake must be a
 * beginning of the whole one; at the end it must be the whole one, to the last byte.
 */
export async function crashInChain(url: string, folder: string, rowsPerRange: number): Promise<Crashes> {
  return await besideWhole(url, folder, rowsPerRange, async (whole) => {
    const dir = mkdtempSync(join(folder, 'lake-'));
    let [points, equal] = [0, 0];
    for (
      let operation = 1;
      await killAfter(operation, { ...exportOf(url, rowsPerRange), to: dir });
      operation += rangesOf(dir) === 0 ? 1 : laterStep
    ) {
      points += 1;
      if (isBeginningOf(dir, whole)) equal += 1;
      say(`left ${String(points)} times, after ${String(rangesOf(dir))} of ${String(rangesOf(whole))} ranges`);
    }
    const isWhole = stateOf(dir) === stateOf(whole) && isIntact(dir);
    rmSync(dir, { recursive: true });
    return { points, equal: isWhole ? equal : 0 };
  });
}

function exportOf(url: string, rowsPerRange: number): Omit<KilledExport, 'to'> {
  return { program, url, schema, rowsPerRange };
}

/** Lends `work` a lake that was never left, how many operations it took, and how to finish another one. */
async function besideWhole<T>(
  url: string,
  folder: string,
  rowsPerRange: number,
  work: (whole: string, operations: number, resume: (dir: string) => Promise<number>) => Promise<T>,
): Promise<T> {
  const whole = mkdtempSync(join(folder, 'lake-'));
  const database = openIndexed(url);
  try {
    const operations = await exportAll(whole, database, rowsPerRange);
    return await work(whole, operations, (dir) => exportAll(dir, database, rowsPerRange));
  } finally {
    rmSync(whole, { recursive: true });
    await database.close();
  }
}
