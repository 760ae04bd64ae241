/** Translates errors of the file system. */
import { LakeError } from './lake-error.ts';

/**
 * Translates errors of the file system in `work`.
 * @param operation the operation, for the message
 * @throws LakeError EXPORT_UNWRITABLE for errors of the file system; other errors unchanged
 */
export async function withDiskErrors<T>(operation: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || Reflect.get(error, 'syscall') === undefined) throw error;
    throw new LakeError(`the lake cannot be ${operation}: ${error.message}`, {
      code: 'EXPORT_UNWRITABLE',
      remedy: 'free disk space or grant write permission for the folder, and run the command again: it resumes',
      cause: error,
    });
  }
}
