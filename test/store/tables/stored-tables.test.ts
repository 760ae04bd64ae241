/** Each table of the migrations has a correct entry in src/store/tables. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedTables, tablesWhere } from '../../../src/store/tables/tables.ts';
import { query, type TestDatabase } from '../../support/database.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';

let database: TestDatabase;
let columns: ReadonlyMap<string, readonly string[]>;
beforeAll(async () => {
  database = await createMigratedDatabase();
  const rows = await query(
    database.url,
    `select c.relname as table, array_agg(a.attname::text) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p') group by 1`,
  );
  columns = new Map(rows.map((row) => [String(row['table']), row['columns'] as string[]]));
});
afterAll(() => database.drop());

const namesIn = (list = ''): readonly string[] => list.split(',').map((name) => name.trim().replaceAll('"', ''));

describe('storedTables', () => {
  it('contains every table (a new table needs an entry in src/store/tables)', () => {
    expect(Object.keys(storedTables).toSorted()).toEqual([...columns.keys()].toSorted());
  });

  it.each(Object.entries(storedTables))(
    'contains only existing columns of %s',
    (table, { writer, redactor, limited }) => {
      const named = [writer?.update, redactor?.update, typeof limited === 'object' ? limited.columns : undefined]
        .filter((list) => list !== undefined)
        .flatMap(namesIn);
      expect(named.filter((name) => !(columns.get(table) ?? []).includes(name))).toEqual([]);
    },
  );

  it('uses the column offset only for tables with this column', () => {
    const byOffset = tablesWhere(({ nodes, goesBack }) => nodes === 'by offset' || goesBack === true);
    expect(byOffset.length).toBeGreaterThan(10);
    expect(byOffset.filter((table) => !(columns.get(table) ?? []).includes('offset'))).toEqual([]);
  });

  it('restricts writes to the owner for the expected tables', () => {
    const readOnly = tablesWhere(({ writer, redactor }) => writer === undefined && redactor === undefined);
    expect(readOnly).toEqual([
      'typed_views',
      'typed_columns',
      'filter_additions',
      'participants',
      'schema_migrations',
      'webhook_secrets',
      'reader_tokens',
      'instrument_labels',
    ]);
  });
});
