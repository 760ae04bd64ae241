/** The package `ledger-indexer-lake`, which knows Parquet, Delta Lake and buckets. The commands that need it load it when they run. */
import type * as LakeModule from 'ledger-indexer-lake/lake';
import { IndexerError } from '../../errors/indexer-error.ts';
import { version } from '../../version.ts';

const name = 'ledger-indexer-lake';

/**
 * Calls `use` with the package, and translates the errors of the package.
 * @throws IndexerError EXPORT_PACKAGE_MISSING if it is not installed; as `use`
 */
export async function withLake<T>(use: (lake: typeof LakeModule) => Promise<T>): Promise<T> {
  const lake = await loadLake();
  try {
    return await use(lake);
  } catch (thrown) {
    if (!(thrown instanceof lake.LakeError)) throw thrown;
    const { message, code, remedy, cause } = thrown;
    throw new IndexerError(message, { code, cause, ...(remedy !== undefined && { remedy }) });
  }
}

/**
 * Loads the package. A command calls it before it opens the database, so that nothing was changed if the package is missing.
 * @throws IndexerError EXPORT_PACKAGE_MISSING
 */
export async function loadLake(): Promise<typeof LakeModule> {
  try {
    return await import('ledger-indexer-lake/lake');
  } catch (thrown) {
    const isMissing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND';
    // A package that is installed and lacks one of its own parts is another failure.
    if (!isMissing || !thrown.message.includes(`'${name}'`)) throw thrown;
    throw new IndexerError(`package ${name} is not installed; nothing was changed`, {
      code: 'EXPORT_PACKAGE_MISSING',
      remedy:
        'run `npm pack --workspace packages/lake` in a clone, and install the file it makes here: ' +
        `npm install ./${name}-${version}.tgz`,
      cause: thrown,
    });
  }
}
