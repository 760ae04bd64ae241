/** The query builder declares the same column types as the migrated tables. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storedTables } from '../../scripts/schema/schema-tables.ts';
import { tableTypes, typesFile } from '../../scripts/schema/table-types.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase } from '../support/database.ts';

it('the generated column types equal the migrated tables (if not, run npm run schema:types)', async () => {
  await using testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  const database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  const types = tableTypes(await storedTables(database));
  await database.close();
  expect(readFileSync(join(import.meta.dirname, '../..', typesFile), 'utf8')).toBe(types);
});
