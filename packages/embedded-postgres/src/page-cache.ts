/** Memory that the embedded server may use for pages of tables and indexes. */
import { totalmem } from 'node:os';

const MIB = 2 ** 20;
const LEAST_MIB = 128;
const MOST_MIB = 4096;

/**
 * The value of `shared_buffers`, e.g. `1024MB`: an eighth of the memory that this process may use, but at least the
 * default of Postgres and at most four gibibytes. Pages use real memory only once they are filled, so a small database
 * takes little of it.
 * @param available bytes of memory; default: that of the machine, or of the container if that is less
 */
export function sharedBuffers(available: number = availableMemory()): string {
  const memoryEighth = Math.floor(available / 8 / MIB);
  return `${Math.min(MOST_MIB, Math.max(LEAST_MIB, memoryEighth))}MB`;
}

function availableMemory(): number {
  // If there is no limit, the kernel reports no value, 0, or a number above all memory.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
