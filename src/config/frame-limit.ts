/**
 * How large a frame may be when nobody says it. A frame is in memory as bytes, as text, as events and as rows at the same
 * time: better one update too large, with its place and a remedy, than a process that the system ends.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

const mebibyte = 1024 ** 2;
const largest = 256 * mebibyte;
/** What the process has without any frame. */
const base = { memory: 100 * mebibyte, heap: 64 * mebibyte };
/** Bytes of each for a byte of a frame, measured: docs/decisions.md. */
const perByte = { memory: 6, heap: 3 };

/** What a process may use, in bytes. */
export interface Memory {
  readonly memory: number;
  readonly heap: number;
}

/** Of this process: the limit of its container or the machine's memory, and the limit of its heap. */
export function memoryOfProcess(): Memory {
  const limit = process.constrainedMemory();
  return {
    memory: Math.min(totalmem(), limit > 0 ? limit : Number.POSITIVE_INFINITY),
    heap: getHeapStatistics().heap_size_limit,
  };
}

/** Whole MiB, between 1 and 256. */
export function frameLimitFor({ memory, heap }: Memory): number {
  const fits = Math.min((memory - base.memory) / perByte.memory, (heap - base.heap) / perByte.heap, largest);
  return Math.max(1, Math.floor(fits / mebibyte)) * mebibyte;
}
