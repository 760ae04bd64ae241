/**
 * Reads small files that contain a secret, an address or a certificate. Each file is checked before it is read: it must
 * be small, and a regular file or a symbolic link to one (Kubernetes secrets are symbolic links). Opening a pipe would
 * block the start until it is written to, and a large file would fill the memory.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';

const bytesPerMiB = 1024 ** 2;

/** Text after "expected …". */
export const smallFileExpected = 'a regular file of at most 1 MiB';

/** With these flags, opening does not wait if the file was replaced by a pipe after the check. */
const nonBlockingRead = constants.O_RDONLY | constants.O_NONBLOCK;

class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/**
 * The text of the file.
 * @param maxMiB largest size
 * @throws Error for {@link unreadableReason}: a system error, or an unsuitable kind or size of file
 */
export async function readSmallFile(path: string, maxMiB = 1): Promise<string> {
  refuseUnusable(await stat(path), maxMiB);
  const file = await open(path, nonBlockingRead);
  try {
    refuseUnusable(await file.stat(), maxMiB);
    const bytes = Buffer.allocUnsafe(maxMiB * bytesPerMiB + 1);
    let length = 0;
    for (let bytesRead = -1; bytesRead !== 0 && length < bytes.length; length += bytesRead) {
      ({ bytesRead } = await file.read(bytes, length, bytes.length - length, null));
    }
    return textOf(bytes, length, maxMiB);
  } finally {
    await file.close();
  }
}

/** Like {@link readSmallFile}, synchronously. */
export function readSmallFileSync(path: string): string {
  refuseUnusable(statSync(path));
  const file = openSync(path, nonBlockingRead);
  try {
    refuseUnusable(fstatSync(file));
    const bytes = Buffer.allocUnsafe(bytesPerMiB + 1);
    let length = 0;
    for (let bytesRead = -1; bytesRead !== 0 && length < bytes.length; length += bytesRead) {
      bytesRead = readSync(file, bytes, length, bytes.length - length, null);
    }
    return textOf(bytes, length);
  } finally {
    closeSync(file);
  }
}

/** Whether the text contains a private key as PEM or JWK, which an operator may set in place of a path. */
export function holdsPrivateKey(text: string): boolean {
  return /PRIVATE KEY-----|"d"\s*:/u.test(text);
}

/** Why an existing file is not a small file, e.g. `a pipe`; undefined if it is one, or if there is no file. */
export function unusableKind(path: string): string | undefined {
  try {
    return kindOf(statSync(path));
  } catch {
    return undefined;
  }
}

/** Why a file could not be read: a description, or the code of the system error. Never contains the content. */
export function unreadableReason(thrown: unknown): string {
  if (thrown instanceof UnusableFile) return thrown.message;
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown reason';
}

function refuseUnusable(stats: Stats, maxMiB = 1): void {
  const kind = kindOf(stats, maxMiB);
  if (kind !== undefined) throw new UnusableFile(kind);
}

function kindOf(stats: Stats, maxMiB = 1): string | undefined {
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSocket()) return 'a socket';
  if (!stats.isFile()) return 'a device';
  return stats.size > maxMiB * bytesPerMiB ? tooLarge(maxMiB) : undefined;
}

/** Checks the size again, because a file may grow after the first check, and files in /proc report no size. */
function textOf(bytes: Buffer, length: number, maxMiB = 1): string {
  if (length > maxMiB * bytesPerMiB) throw new UnusableFile(tooLarge(maxMiB));
  return bytes.toString('utf8', 0, length);
}

function tooLarge(maxMiB: number): string {
  return `larger than ${String(maxMiB)} MiB`;
}
