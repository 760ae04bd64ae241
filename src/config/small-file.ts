/**
 * Reads small files that hold a secret, an address or a certificate. Opening a pipe waits for a writer and would block the
 * start; a large file would fill the memory. The file is checked before it is read: it has to be small and a regular file, or
 * a link to one (Kubernetes secrets are links).
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';

const largestBytes = 1024 ** 2;

/** Completes "expected …". */
export const smallFileExpected = 'a regular file of at most 1 MiB';

/** Does not wait for a pipe that replaced the file after the check. */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK;

class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/** The text of the file. @throws Error for {@link whyUnreadable}: a system error, or a file of another kind or size */
export async function readSmallFile(path: string): Promise<string> {
  refuseUnusable(await stat(path));
  const file = await open(path, withoutWaiting);
  try {
    refuseUnusable(await file.stat());
    const bytes = Buffer.allocUnsafe(largestBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      ({ bytesRead: read } = await file.read(bytes, length, bytes.length - length, null));
    }
    return textOf(bytes, length);
  } finally {
    await file.close();
  }
}

/** Like {@link readSmallFile}, synchronously. */
export function readSmallFileSync(path: string): string {
  refuseUnusable(statSync(path));
  const file = openSync(path, withoutWaiting);
  try {
    refuseUnusable(fstatSync(file));
    const bytes = Buffer.allocUnsafe(largestBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    return textOf(bytes, length);
  } finally {
    closeSync(file);
  }
}

/** Why an existing file cannot be read as a small file, e.g. `a pipe`; undefined if it can, or if there is no file. */
export function unusableKind(path: string): string | undefined {
  try {
    return kindOf(statSync(path));
  } catch {
    return undefined;
  }
}

/** Why a file could not be read: words, or the code of the system error. Never the content. */
export function whyUnreadable(thrown: unknown): string {
  if (thrown instanceof UnusableFile) return thrown.message;
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown reason';
}

function refuseUnusable(found: Stats): void {
  const kind = kindOf(found);
  if (kind !== undefined) throw new UnusableFile(kind);
}

function kindOf(found: Stats): string | undefined {
  if (found.isFIFO()) return 'a pipe';
  if (found.isDirectory()) return 'a folder';
  if (found.isSocket()) return 'a socket';
  if (!found.isFile()) return 'a device';
  return found.size > largestBytes ? 'larger than 1 MiB' : undefined;
}

/** Checks the size again: a file may grow after the first check, and files of /proc report no size. */
function textOf(bytes: Buffer, length: number): string {
  if (length > largestBytes) throw new UnusableFile('larger than 1 MiB');
  return bytes.toString('utf8', 0, length);
}
