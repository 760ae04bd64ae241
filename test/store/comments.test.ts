/** Every table and column has a comment in the catalog, because SQL is a public interface. */
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase } from '../support/database.ts';

const uncommented = `
  select c.relname || coalesce('.' || a.attname, '') as name
    from pg_class c
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'v')
     and (obj_description(c.oid) is null or col_description(c.oid, a.attnum) is null)
   order by 1`;

describe('schema', () => {
  it('has a comment on every table, view and column', async () => {
    await using testDatabase = await createTestDatabase();
    const database = openDatabase({
      url: testDatabase.url,
      schema: 'ledger',
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    await migrate(database);
    const { rows } = await database.withClient((client) => client.query<{ name: string }>(uncommented, ['ledger']));
    await database.close();
    expect(rows.map((row) => row.name)).toEqual([]);
  });
});
