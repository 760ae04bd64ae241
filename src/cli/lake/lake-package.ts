/** Loads the package `ledger-indexer-lake` (Parquet, Delta Lake, buckets) when a command needs it. */
import type * as LakeModule from 'ledger-indexer-lake/lake';
import { IndexerError } from '../../errors/indexer-error.ts';
import { version } from '../../version.ts';

const name = 'ledger-indexer-lake';

/**
 * Calls `use` with the package and translates its errors.
 * @throws IndexerError EXPORT_PACKAGE_MISSING if the package is not installed; errors of `use`
 */
export async function withLake<T>(use: (lake: typeof LakeModule) => Promise<T>): Promise<T> {
  const lake = await loadLake();
  try {
    return await use(lake);
  } catch (thrown) {
    if (!(thrown instanceof lake.LakeError)) throw thrown;
    const { message, code, remedy, cause } = thrown;
    throw new IndexerError(message, { code, remedy, cause });
  }
}

/**
 * Loads the package. A command calls it before it opens the database, so that nothing is changed if the package is
 * missing.
 * @throws IndexerError EXPORT_PACKAGE_MISSING
 */
export async function loadLake(): Promise<typeof LakeModule> {
  try {
    return await import('ledger-indexer-lake/lake');
  } catch (thrown) {
    const isMissing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND';
    // If an installed package lacks one of its own dependencies, that is a different failure.
    if (!isMissing || !thrown.message.includes(`'${name}'`)) throw thrown;
    throw new IndexerError(`package ${name} is not installed; nothing was changed`, {
      code: 'EXPORT_PACKAGE_MISSING',
      remedy:
        'take its file from the release, or run `npm pack --workspace packages/lake` in a clone; then install the file here: ' +
        `npm install ./${name}-${version}.tgz`,
      cause: thrown,
    });
  }
}
