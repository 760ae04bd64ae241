/** `rebuild --drop-previous`: deletes the schema that the last swap has left; without `--yes` it counts what that deletes. */
import type { Database } from '../../store/connection/database.ts';
import { schemaContents, type SchemaContents } from '../../store/reads/sizes.ts';
import { allDependents } from '../../store/swap/dependents.ts';
import { besideSchema, dropBeside, isThere, rebuildRefused } from '../../store/swap/places.ts';
import { bytesInWords, wholeNumber } from '../command-line/amounts.ts';

/** Resolves to the line to print. @throws IndexerError REBUILD_REFUSED without a previous schema, or while something depends on it */
export async function dropPrevious(live: Database, yes: boolean): Promise<string> {
  const name = besideSchema(live.schema, 'previous');
  const contents = await live.transaction(async (client) => {
    if (!(await isThere(client, live.schema, 'previous'))) {
      throw rebuildRefused(`there is no schema "${name}"`, 'nothing to do: no previous schema is left');
    }
    const [first] = await allDependents(client, name);
    if (first !== undefined) {
      throw rebuildRefused(
        `${first} still reads the previous schema`,
        `drop it, or create it again over schema "${live.schema}"`,
      );
    }
    const found = await schemaContents(client, name);
    if (yes) await dropBeside(client, live.schema, 'previous');
    return found;
  });
  return yes
    ? `schema "${name}" is deleted: ${textOf(contents)}; it cannot be swapped back any more`
    : `schema "${name}" would be deleted: ${textOf(contents)}; to delete it, run: ledger-indexer rebuild --drop-previous --yes`;
}

function textOf({ relations, rows, isLowerBound, bytes }: SchemaContents): string {
  const counted = `${isLowerBound ? 'at least' : 'about'} ${wholeNumber(rows)} rows`;
  return `${wholeNumber(relations)} relations, ${counted}, ${bytesInWords(bytes)}`;
}
