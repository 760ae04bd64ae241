/** Translates errors of the file system. */
import { LakeError } from './lake-error.ts';

/**
 * Translates errors of the file system in `work`.
 * @param what the operation, for the message
 * @throws LakeError EXPORT_UNWRITABLE for errors of the file system; other errors unchanged
 */
export async function onDisk<T>(what: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Error) || Reflect.get(thrown, 'syscall') === undefined) throw thrown;
    throw new LakeError(`the lake cannot be ${what}: ${thrown.message}`, {
      code: 'EXPORT_UNWRITABLE',
      remedy: 'free disk space or grant write permission for the folder, and run the command again: it resumes',
      cause: thrown,
    });
  }
}
