/** `npm run schema:types`: writes the types of the tables from the catalog of a freshly migrated database. */
import { writeFile } from 'node:fs/promises';
import { withMigratedDatabase } from './migrated-database.ts';
import { storedTables } from './schema-tables.ts';
import { tableTypes, typesFile } from './table-types.ts';

await withMigratedDatabase(async (database) => {
  await writeFile(typesFile, tableTypes(await storedTables(database)));
});
