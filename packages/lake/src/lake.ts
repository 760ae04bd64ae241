/** Entry points for ledger-indexer: `export`, and the lookups of `prune` and `redact` in a lake. */
import type { Reads } from 'ledger-indexer/read';
import { withDiskErrors } from './errors/on-disk.ts';
import { type Exported, exportedTo } from './lookup/exported.ts';
import { findInLake, type FoundInLake, type Subject } from './lookup/in-lake.ts';
import { type Env, openLake } from './storage/open-lake.ts';

export { LakeError } from './errors/lake-error.ts';
export { exportLake } from './export/export-lake.ts';

/**
 * Returns the offset up to which the lake has everything that the database has.
 * @param to a folder, or `s3://BUCKET/PREFIX`
 * @throws LakeError USAGE, EXPORT_REFUSED, EXPORT_UNWRITABLE; errors of the reads
 */
export async function offsetInLake(databaseReads: Reads, to: string, env: Env): Promise<Exported> {
  return await withDiskErrors('read', async () => exportedTo(databaseReads, await openLake(to, env)));
}

/**
 * Finds the contracts and exercises of pruned ranges that a redaction covers.
 * @param to a folder, or `s3://BUCKET/PREFIX`
 * @throws LakeError USAGE, EXPORT_REFUSED, EXPORT_UNWRITABLE; errors of the reads
 */
export async function foundInLake(databaseReads: Reads, to: string, subject: Subject, env: Env): Promise<FoundInLake> {
  return await withDiskErrors('read', async () => findInLake(databaseReads, await openLake(to, env), subject));
}
