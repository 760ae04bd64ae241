/** What is asked of a table when a duplicate was refused. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { rowsAt } from '../../src/store/write/duplicate.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let place: TestDatabase;
let database: Database;

beforeAll(async () => {
  place = await createTestDatabase();
  const limits = { schema: 'ledger', statementTimeoutMs: 10_000, applicationName: 'test' };
  database = openDatabase({ url: place.url, ...limits });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  await place.drop();
});

it.each([
  ['contracts', 'template_pk = t.template_pk'],
  ['interface_views', 'interface_pk = t.template_pk'],
  ['exercises', '"offset" = '],
  ['archives', '"offset" = '],
  ['reassignments', '"offset" = '],
])(
  'finds the rows of %s at an offset by the first columns of an index, however long the history is',
  async (table, by) => {
    const { rows } = await database.withClient((client) =>
      client.query<{ 'QUERY PLAN': string }>(`explain ${rowsAt(table).replace('$1', '5')}`),
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('"offset" = ');
    expect(plan.replaceAll('(', '')).toContain(`Index Cond: ${by}`);
  },
);
