/**
 * `npm run docs:schema`: writes the diagram in docs/reference/storage-tables.md from the catalog of a freshly migrated
 * database.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { withMigratedDatabase } from './migrated-database.ts';
import { withDiagram } from './schema-diagram.ts';
import { storedTables } from './schema-tables.ts';

await withMigratedDatabase(async (database) => {
  const page = 'docs/reference/storage-tables.md';
  await writeFile(page, withDiagram(await readFile(page, 'utf8'), await storedTables(database)));
});
