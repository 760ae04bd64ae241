/**
 * `rebuild --drop-previous`: deletes the schema that was live before the last swap. Without `--yes` it only counts its
 * contents.
 */
import type { Database } from '../../store/connection/database.ts';
import { schemaContents, type SchemaContents } from '../../store/reads/sizes.ts';
import { allDependents } from '../../store/swap/dependents.ts';
import { otherSchemaName, dropOtherSchema, isThere, rebuildRefused } from '../../store/swap/stream-schemas.ts';
import { bytesInWords, formatInteger } from '../command-line/amounts.ts';

/**
 * Resolves to the line to print.
 * @throws IndexerError REBUILD_REFUSED if there is no previous schema, or if other objects depend on it
 */
export async function dropPrevious(live: Database, yes: boolean): Promise<string> {
  const name = otherSchemaName(live.schema, 'previous');
  const contents = await live.transaction(async (client) => {
    if (!(await isThere(client, live.schema, 'previous'))) {
      throw rebuildRefused(`there is no schema "${name}"`, 'nothing to do: there is no previous schema');
    }
    const [first] = await allDependents(client, name);
    if (first !== undefined) {
      throw rebuildRefused(
        `${first} still reads the previous schema`,
        `drop this object, or create it again on schema "${live.schema}"`,
      );
    }
    const found = await schemaContents(client, name);
    if (yes) await dropOtherSchema(client, live.schema, 'previous');
    return found;
  });
  return yes
    ? `schema "${name}" is deleted: ${textOf(contents)}; a swap back is no longer possible`
    : `schema "${name}" would be deleted: ${textOf(contents)}; to delete it, run: ledger-indexer rebuild --drop-previous --yes`;
}

function textOf({ relations, rows, isLowerBound, bytes }: SchemaContents): string {
  const counted = `${isLowerBound ? 'at least' : 'about'} ${formatInteger(rows)} rows`;
  return `${formatInteger(relations)} relations, ${counted}, ${bytesInWords(bytes)}`;
}
