/**
 * `rebuild --drop-previous`: deletes the schema that was live before the last swap. Without `--yes` it only counts its
 * contents.
 */
import type { Database } from '../../store/connection/database.ts';
import { schemaContents, type SchemaContents } from '../../store/reads/sizes.ts';
import { allDependents } from '../../store/swap/dependents.ts';
import {
  otherSchemaName,
  dropOtherSchema,
  schemaExists,
  rebuildRefusedError,
} from '../../store/swap/stream-schemas.ts';
import { formatBytes, formatInteger } from '../command-line/amounts.ts';

/**
 * Resolves to the line to print.
 * @throws IndexerError REBUILD_REFUSED if there is no previous schema, or if other objects depend on it
 */
export async function dropPrevious(liveDatabase: Database, isConfirmed: boolean): Promise<string> {
  const name = otherSchemaName(liveDatabase.schema, 'previous');
  const contents = await liveDatabase.transaction(async (client) => {
    if (!(await schemaExists(client, liveDatabase.schema, 'previous'))) {
      throw rebuildRefusedError(`there is no schema "${name}"`, 'nothing to do: there is no previous schema');
    }
    const [first] = await allDependents(client, name);
    if (first !== undefined) {
      throw rebuildRefusedError(
        `${first} still reads the previous schema`,
        `drop this object, or create it again on schema "${liveDatabase.schema}"`,
      );
    }
    const previousContents = await schemaContents(client, name);
    if (isConfirmed) await dropOtherSchema(client, liveDatabase.schema, 'previous');
    return previousContents;
  });
  return isConfirmed
    ? `schema "${name}" is deleted: ${textOf(contents)}; a swap back is no longer possible`
    : `schema "${name}" would be deleted: ${textOf(contents)}; to delete it, run: ledger-indexer rebuild --drop-previous --yes`;
}

function textOf({ relations, rows, isLowerBound, bytes }: SchemaContents): string {
  const rowCountText = `${isLowerBound ? 'at least' : 'about'} ${formatInteger(rows)} rows`;
  return `${formatInteger(relations)} relations, ${rowCountText}, ${formatBytes(bytes)}`;
}
