/**
 * Cost of an export in addition to writing files of rows: the manifest, the logs of Delta Lake, and the search for
 * files that the manifest does not name. Measures its share of the run, and whether it grows with the number of ranges
 * in the lake.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DeltaLogs } from '../../packages/lake/src/delta/delta-log.ts';
import { exportOnce } from '../../packages/lake/src/export/run-export.ts';
import { openLake } from '../../packages/lake/src/storage/open-lake.ts';
import { onExit } from '../cleanup.ts';
import { say } from '../figures/terminal.ts';
import { madeReads, type MadeHistory } from './made-reads.ts';

type Size = Omit<MadeHistory, 'onRange'>;

/** Number of ranges at the beginning, and at the end, that are compared. */
const compared = 100;

/** Times per range, milliseconds. */
interface Timing {
  readonly totalMs: number;
  /** Time from the last file of rows to the next range. */
  readonly bookkeeping: number;
}

/** Exports a generated history into a subfolder of `folder`, and then again with nothing to add. */
export async function measureBookkeeping(folder: string, size: Size): Promise<object> {
  const dir = mkdtempSync(join(folder, 'lake-'));
  onExit(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  const began = performance.now();
  const timings = await exportTimed(dir, size);
  const seconds = (performance.now() - began) / 1000;
  const again = performance.now();
  await exportTimed(dir, size);
  const resumeSeconds = (performance.now() - again) / 1000;
  const bookkeeping = sumOf(timings.map((timing) => timing.bookkeeping)) / 1000;
  const ends = { first: timings.slice(0, compared), last: timings.slice(-compared) };
  const figures = {
    ...size,
    seconds: rounded(seconds),
    bookkeeping_seconds: rounded(bookkeeping),
    bookkeeping_share: rounded(bookkeeping / seconds, 4),
    bookkeeping_ms_of_first_ranges: meanOf(ends.first.map((timing) => timing.bookkeeping)),
    bookkeeping_ms_of_last_ranges: meanOf(ends.last.map((timing) => timing.bookkeeping)),
    ms_of_first_ranges: meanOf(ends.first.map(({ totalMs }) => totalMs)),
    ms_of_last_ranges: meanOf(ends.last.map(({ totalMs }) => totalMs)),
    run_with_nothing_to_add_seconds: rounded(resumeSeconds),
    head_bytes: statSync(join(dir, 'manifest.json')).size,
    files: readdirSync(dir, { recursive: true }).length,
  };
  rmSync(dir, { recursive: true });
  return figures;
}

async function exportTimed(dir: string, size: Size): Promise<readonly Timing[]> {
  const timings: Timing[] = [];
  let [rangeAt, fileAt] = [0, 0];
  const note = (): void => {
    const now = performance.now();
    if (rangeAt > 0) timings.push({ totalMs: now - rangeAt, bookkeeping: now - fileAt });
    rangeAt = now;
    if (timings.length % compared === 0) say(`${String(timings.length)} of ${String(size.ranges)} ranges`);
  };
  const folder = await openLake(dir, {});
  await folder.prepare();
  await exportOnce(madeReads({ ...size, onRange: note }), folder, {
    until: undefined,
    isWanted: () => true,
    stop: new AbortController().signal,
    onProgress: () => {
      fileAt = performance.now();
    },
    logs: new DeltaLogs(folder),
  });
  note();
  return timings;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

function meanOf(numbers: readonly number[]): number {
  return rounded(sumOf(numbers) / Math.max(numbers.length, 1));
}

function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
