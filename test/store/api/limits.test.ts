import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { readApi } from '../../../src/store/api/read-api.ts';
import { createReadDatabase } from '../../read/read-database.ts';

describe('readApi()', () => {
  it('ends a statement at its time limit, and serves the next request', async () => {
    await using world = await createReadDatabase();
    const database = openDatabase({
      url: world.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
      maxConnections: 1,
    });
    const blocker = new Client({ connectionString: world.url });
    await blocker.connect();
    try {
      const read = readApi(database, 200);
      const request = {
        route: 'contracts',
        arguments: { limit: 10 },
        after: undefined,
        reader: { role: null },
      } as const;
      await blocker.query('begin; lock table ledger.live');
      await expect(read(request)).rejects.toMatchObject({ code: 'STORE_STATEMENT_TIMEOUT' });
      await blocker.query('rollback');
      expect(await read(request)).toMatchObject({ offset: 0, rows: [] });
    } finally {
      await blocker.end();
      await database.close();
    }
  });
});
