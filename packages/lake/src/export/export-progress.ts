/** Progress of an export: a bar on a terminal, otherwise lines of JSON. */
import type { ExportProgress } from './run-export.ts';

/** Standard error, or a substitute. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export interface ProgressDisplay {
  readonly display: (progress: ExportProgress) => void;
  /** Removes the progress bar. */
  readonly end: () => void;
}

const clearLine = '\r\u001b[K';
const cells = 24;
/** Interval of updates on a terminal, milliseconds; otherwise lines are written for a log. */
const barEveryMs = 200;
const lineEveryMs = 10_000;

/** Displays the progress. The rate is measured from the first report. */
export function progressOn(stderr: ProgressOutput): ProgressDisplay {
  const isTerminal = stderr.isTTY === true;
  const every = isTerminal ? barEveryMs : lineEveryMs;
  let began: number | undefined;
  let displayedAtMs = performance.now();
  let isBarVisible = false;
  return {
    display: (progress) => {
      const now = performance.now();
      began ??= now;
      if (now - displayedAtMs < every) return;
      displayedAtMs = now;
      const rowsPerSecond = Math.round((progress.rows * 1000) / Math.max(now - began, 1));
      isBarVisible = isTerminal;
      const line = `${JSON.stringify({ ...progress, rowsPerSecond })}\n`;
      stderr.write(isTerminal ? `${clearLine}${barOf(progress, rowsPerSecond)}` : line);
    },
    end: () => {
      if (isBarVisible) stderr.write(clearLine);
      isBarVisible = false;
      began = undefined;
    },
  };
}

function barOf({ offset, until, rows }: ExportProgress, rowsPerSecond: number): string {
  const share = Math.min(1, Math.max(0, (offset ?? 0) / Math.max(until, 1)));
  const done = Math.round(share * cells);
  const bar = `${'█'.repeat(done)}${'░'.repeat(cells - done)}`;
  return `${bar} ${String(Math.floor(share * 100))} %  offset ${String(offset ?? 0)} of ${String(until)}  ${String(rows)} rows, ${String(rowsPerSecond)}/s`;
}
