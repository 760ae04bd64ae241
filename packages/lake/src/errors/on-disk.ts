/** Translates what the file system refuses. */
import { LakeError } from './lake-error.ts';

/** @param what was to be done with the lake @throws LakeError EXPORT_UNWRITABLE for errors of the file system; others as they are */
export async function onDisk<T>(what: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Error) || Reflect.get(thrown, 'syscall') === undefined) throw thrown;
    throw new LakeError(`the lake cannot be ${what}: ${thrown.message}`, { code: 'EXPORT_UNWRITABLE', cause: thrown });
  }
}
