/** One line on a terminal that says how far a comparison is; nothing where there is no terminal. */
import type { Writable } from 'node:stream';

export interface ProgressLine {
  /** Shown at most five times a second. */
  readonly show: (what: string, read: number) => void;
  /** Removes the line. */
  readonly end: () => void;
}

const intervalMs = 200;
const clear = '\r\u001b[K';

/** Writes to `terminal` if it is one. */
export function progressLine(terminal: Writable & { readonly isTTY?: boolean }): ProgressLine {
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show: (what, read) => {
      if (terminal.isTTY !== true || performance.now() - shownAt < intervalMs) return;
      shownAt = performance.now();
      terminal.write(`${clear}${what} ${String(read)}`);
    },
    end: () => {
      if (terminal.isTTY === true && Number.isFinite(shownAt)) terminal.write(clear);
    },
  };
}
