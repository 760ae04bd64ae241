/** Statements built with Kysely run on the lent client, in its transaction, and fail with the same errors as others. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { tablesOf } from '../../src/store/connection/query-builder.ts';
import type { QueryOp } from '../../src/store/connection/query-timing.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase } from '../support/database.ts';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
const timedQueries: QueryOp[] = [];

beforeAll(async () => {
  server = await createTestDatabase();
  database = openDatabase({
    url: server.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
    onQuery: (queryKind) => timedQueries.push(queryKind),
  });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  await server.drop();
});

const synchronizer = { synchronizer_pk: 1, synchronizer_id: 'global::1' };

describe('query builder statement', () => {
  it('runs in the transaction of its client and is rolled back with that transaction', async () => {
    const failedTransaction = database.transaction(async (client) => {
      await tablesOf(client).insertInto('synchronizers').values(synchronizer).execute();
      const rows = await tablesOf(client).selectFrom('synchronizers').selectAll().execute();
      throw new TypeError(`${String(rows.length)} there`);
    });
    await expect(failedTransaction).rejects.toThrow('1 there');
    const rows = await database.withClient((client) =>
      tablesOf(client).selectFrom('synchronizers').selectAll().execute(),
    );
    expect(rows).toEqual([]);
  });

  it('returns the number of changed rows, and is timed as a write', async () => {
    timedQueries.length = 0;
    const changedRows = await database.withClient((client) =>
      tablesOf(client).deleteFrom('synchronizers').where('synchronizer_pk', '=', 7).executeTakeFirst(),
    );
    expect(changedRows.numDeletedRows).toBe(0n);
    expect(timedQueries).toEqual(['write']);
  });

  it('fails with STORE_DUPLICATE for a duplicate key', async () => {
    const nestedTransaction = database.transaction(async (client) => {
      await tablesOf(client).insertInto('synchronizers').values([synchronizer, synchronizer]).execute();
    });
    await expect(nestedTransaction).rejects.toMatchObject({
      name: 'IndexerError',
      code: 'STORE_DUPLICATE',
      facts: { sqlstate: '23505', table: 'synchronizers' },
    });
  });

  it('returns an int8 beyond the safe integers as a bigint', async () => {
    const epoch = 2n ** 60n;
    const readResult = database.withClient((client) =>
      tablesOf(client)
        .selectNoFrom((e) => e.cast<number>(e.val(String(epoch)), 'int8').as('epoch'))
        .executeTakeFirst(),
    );
    await expect(readResult).resolves.toEqual({ epoch });
  });
});

it('src/store sets no columns in a callback or spread, which the compiler would not check', () => {
  const rawSetPattern = /\.set\(\s*\(|\.(?:set|values|doUpdateSet)\(\{[^}]*\.\.\./;
  const store = join(import.meta.dirname, '../../src/store');
  const files = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((name) => rawSetPattern.test(readFileSync(join(store, name), 'utf8')))).toEqual([]);
});
