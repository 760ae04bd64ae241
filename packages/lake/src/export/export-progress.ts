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
  const intervalMs = isTerminal ? barEveryMs : lineEveryMs;
  let startMs: number | undefined;
  let displayedAtMs = performance.now();
  let isBarVisible = false;
  return {
    display: (progress) => {
      const now = performance.now();
      startMs ??= now;
      if (now - displayedAtMs < intervalMs) return;
      displayedAtMs = now;
      const rowsPerSecond = Math.round((progress.rows * 1000) / Math.max(now - startMs, 1));
      isBarVisible = isTerminal;
      const line = `${JSON.stringify({ ...progress, rowsPerSecond })}\n`;
      stderr.write(isTerminal ? `${clearLine}${renderBar(progress, rowsPerSecond)}` : line);
    },
    end: () => {
      if (isBarVisible) stderr.write(clearLine);
      isBarVisible = false;
      startMs = undefined;
    },
  };
}

function renderBar({ offset, until: untilOffset, rows }: ExportProgress, rowsPerSecond: number): string {
  const share = Math.min(1, Math.max(0, (offset ?? 0) / Math.max(untilOffset, 1)));
  const filledCells = Math.round(share * cells);
  const progressBar = `${'█'.repeat(filledCells)}${'░'.repeat(cells - filledCells)}`;
  return `${progressBar} ${String(Math.floor(share * 100))} %  offset ${String(offset ?? 0)} of ${String(untilOffset)}  ${String(rows)} rows, ${String(rowsPerSecond)}/s`;
}
