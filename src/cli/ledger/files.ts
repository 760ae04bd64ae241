/** Reads and writes files given on the command line. */
import { readFile, writeFile } from 'node:fs/promises';
import { IndexerError } from '../../errors/indexer-error.ts';

function fileError(description: string, path: string, cause: unknown): IndexerError {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  return new IndexerError(`cannot ${description} ${path}: ${reason}`, {
    code: 'FILE_UNUSABLE',
    cause,
  });
}

/** @throws IndexerError FILE_UNUSABLE */
export async function bytesOf(path: string): Promise<Buffer> {
  return await readFile(path).catch((cause: unknown) => {
    throw fileError('read', path, cause);
  });
}

/** Replaces an existing file. @throws IndexerError FILE_UNUSABLE */
export async function saveBytes(path: string, bytes: Uint8Array): Promise<void> {
  await writeFile(path, bytes).catch((cause: unknown) => {
    throw fileError('write', path, cause);
  });
}
