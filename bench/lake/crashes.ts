/** Kills an export after every operation on its files, and checks the result of the next export. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printStatus } from '../figures/terminal.ts';
import { schema } from '../postgres.ts';
import { isPrefixOf, isIntact, killAfter, type KilledExport, rangesOf, stateOf } from './kill-export.ts';
import { openIndexed } from './lake-database.ts';
import { exportAll } from './whole-export.ts';

const program = fileURLToPath(new URL('../../src', import.meta.url));

export interface CrashCounts {
  readonly points: number;
  /** Number of kills after which manifest, files and logs became the same as those of an export that was not killed. */
  readonly equal: number;
}

/** For a small history: kills an export after each of its operations, and completes it with a second export. */
export async function crashAfterEach(url: string, folder: string, rowsPerRange: number): Promise<CrashCounts> {
  return await withCompleteExport(url, folder, rowsPerRange, async (completeDir, pointCount, resume) => {
    const expectedState = stateOf(completeDir);
    let equalPoints = 0;
    for (let crashPoint = 1; crashPoint <= pointCount; crashPoint += 1) {
      printStatus(`killed after operation ${String(crashPoint)} of ${String(pointCount)}`);
      const dir = mkdtempSync(join(folder, 'lake-'));
      if (!(await killAfter(crashPoint, { ...exportOf(url, rowsPerRange), to: dir })))
        throw new Error(`the export was not killed after operation ${String(crashPoint)}`);
      await resume(dir);
      if (stateOf(dir) === expectedState) equalPoints += 1;
      rmSync(dir, { recursive: true });
    }
    return { points: pointCount, equal: equalPoints };
  });
}

/**
 * Difference in operations between two kills after the first range is done. Chosen so that all kinds of operations are
 * covered.
 */
const laterStep = 13;

/**
 * For a large history: one lake, into which exports are killed one after the other. The first is killed after one
 * operation, the second after two, and so on. Each resumes where the previous one was killed, until one completes.
 * Within the first range, exports are killed after every operation; in later ranges, after each thirteenth. Each export
 * repeats at most one range. After each kill the lake must be a prefix of the complete one. At the end it must equal
 * the complete one, byte by byte.
 */
export async function crashInChain(url: string, folder: string, rowsPerRange: number): Promise<CrashCounts> {
  return await withCompleteExport(url, folder, rowsPerRange, async (completeDir) => {
    const dir = mkdtempSync(join(folder, 'lake-'));
    let [pointCount, equalPoints] = [0, 0];
    for (
      let operation = 1;
      await killAfter(operation, { ...exportOf(url, rowsPerRange), to: dir });
      operation += rangesOf(dir) === 0 ? 1 : laterStep
    ) {
      pointCount += 1;
      if (isPrefixOf(dir, completeDir)) equalPoints += 1;
      printStatus(
        `left ${String(pointCount)} times, after ${String(rangesOf(dir))} of ${String(rangesOf(completeDir))} ranges`,
      );
    }
    const isComplete = stateOf(dir) === stateOf(completeDir) && isIntact(dir);
    rmSync(dir, { recursive: true });
    return { points: pointCount, equal: isComplete ? equalPoints : 0 };
  });
}

function exportOf(url: string, rowsPerRange: number): Omit<KilledExport, 'to'> {
  return { program, url, schema, rowsPerRange };
}

/**
 * Runs `work` with a lake of an export that was not killed, its number of operations, and a function that completes
 * another lake.
 */
async function withCompleteExport<T>(
  url: string,
  folder: string,
  rowsPerRange: number,
  work: (completeDir: string, operations: number, resume: (dir: string) => Promise<number>) => Promise<T>,
): Promise<T> {
  const completeDir = mkdtempSync(join(folder, 'lake-'));
  const database = openIndexed(url);
  try {
    const operations = await exportAll(completeDir, database, rowsPerRange);
    return await work(completeDir, operations, (dir) => exportAll(dir, database, rowsPerRange));
  } finally {
    rmSync(completeDir, { recursive: true });
    await database.close();
  }
}
