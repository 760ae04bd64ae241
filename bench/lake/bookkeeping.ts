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
import { printStatus } from '../figures/terminal.ts';
import { generatedReads, type GeneratedHistory } from './made-reads.ts';

type Size = Omit<GeneratedHistory, 'onRange'>;

/** Number of ranges at the beginning, and at the end, that are compared. */
const comparedRangeCount = 100;
/** Number of ranges between two lines of progress. */
const progressInterval = 100;

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
  const startMs = performance.now();
  const timings = await exportTimed(dir, size);
  const seconds = (performance.now() - startMs) / 1000;
  const secondStartMs = performance.now();
  await exportTimed(dir, size);
  const resumeSeconds = (performance.now() - secondStartMs) / 1000;
  const bookkeeping = sumOf(timings.map((timing) => timing.bookkeeping)) / 1000;
  const edgeTimings = { first: timings.slice(0, comparedRangeCount), last: timings.slice(-comparedRangeCount) };
  const figures = {
    ...size,
    seconds: roundTo(seconds),
    bookkeeping_seconds: roundTo(bookkeeping),
    bookkeeping_share: roundTo(bookkeeping / seconds, 4),
    bookkeeping_ms_of_first_ranges: meanOf(edgeTimings.first.map((timing) => timing.bookkeeping)),
    bookkeeping_ms_of_last_ranges: meanOf(edgeTimings.last.map((timing) => timing.bookkeeping)),
    ms_of_first_ranges: meanOf(edgeTimings.first.map(({ totalMs }) => totalMs)),
    ms_of_last_ranges: meanOf(edgeTimings.last.map(({ totalMs }) => totalMs)),
    run_with_nothing_to_add_seconds: roundTo(resumeSeconds),
    head_bytes: statSync(join(dir, 'manifest.json')).size,
    files: readdirSync(dir, { recursive: true }).length,
  };
  rmSync(dir, { recursive: true });
  return figures;
}

async function exportTimed(dir: string, size: Size): Promise<readonly Timing[]> {
  const timings: Timing[] = [];
  let [rangeAt, fileAt] = [0, 0];
  const recordTiming = (): void => {
    const now = performance.now();
    if (rangeAt > 0) timings.push({ totalMs: now - rangeAt, bookkeeping: now - fileAt });
    rangeAt = now;
    if (timings.length % progressInterval === 0)
      printStatus(`${String(timings.length)} of ${String(size.ranges)} ranges`);
  };
  const folder = await openLake(dir, {});
  await folder.prepare();
  await exportOnce(generatedReads({ ...size, onRange: recordTiming }), folder, {
    until: undefined,
    isWanted: () => true,
    stop: new AbortController().signal,
    onProgress: () => {
      fileAt = performance.now();
    },
    logs: new DeltaLogs(folder),
  });
  recordTiming();
  return timings;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function meanOf(numbers: readonly number[]): number {
  return roundTo(sumOf(numbers) / Math.max(numbers.length, 1));
}

function roundTo(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
