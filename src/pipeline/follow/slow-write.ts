/** Tells apart, while the stream waits for frames, a quiet ledger from a database that does not come to its end. */
import type { Observer } from '../ports/observer.ts';
import type { WriteQueue } from './write-queue.ts';

/** Under way for so long while nothing else is to be done, a write is what is waited for. */
const slowMs = 250;

/**
 * Whoever waits for frames waits for the source; for the database while one write does not end, though there may be room
 * for more: nothing else holds the checkpoint back then.
 * @returns ends the watch, when the frames are there
 */
export function watchSlowWrites(writes: WriteQueue, observer: Observer): () => void {
  observer.busyWith('source');
  let { oldest } = writes;
  if (oldest === undefined) return () => undefined;
  const watch = setInterval(() => {
    observer.busyWith(oldest !== undefined && oldest === writes.oldest ? 'database' : 'source');
    oldest = writes.oldest;
    if (oldest === undefined) clearInterval(watch);
  }, slowMs);
  return () => {
    clearInterval(watch);
  };
}
