/** Sessions of the program have fixed settings, whatever the defaults of the server, the database and the role are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { openLockConnection } from '../../../src/store/lock/lock-connection.ts';
import { migrate } from '../../../src/store/schema/migrations.ts';
import { sessionSettings } from '../../../src/store/connection/session-settings.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { checkpointStatement, seedStatement } from '../../../src/store/write/stream-row.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { identity } from '../../support/schemas.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const name = new URL(testDatabase.url).pathname.slice(1);
  for (const setting of ['jit = on', 'jit_above_cost = 0', 'datestyle = "SQL, DMY"', 'enable_nestloop = off']) {
    await query(testDatabase.url, `alter database ${name} set ${setting}`);
  }
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  await migrate(database);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const [server] = await query(process.env['TEST_POSTGRES_URL'] ?? '', 'select pg_jit_available() as compiles');
if (server?.['compiles'] !== true)
  process.stdout.write('this Postgres cannot compile plans: that none is, is sure here\n');

describe('database session', () => {
  const limits = { statementTimeoutMs: 60_000, lockTimeoutMs: 30_000, idleInTransactionMs: 60_000, idleSessionMs: 0 };
  const expected = Object.fromEntries(sessionSettings('ledger', limits));

  it.each(['jit', 'datestyle', 'enable_nestloop', 'default_transaction_isolation'])(
    'sets %s regardless of the database default',
    async (name) => {
      const { rows } = await database.withClient((client) => client.query<Record<string, string>>(`show ${name}`));
      expect(Object.values(rows[0] ?? {})).toEqual([expected[name]]);
    },
  );

  it('sets jit, datestyle and timeouts for the writer lock connection', async () => {
    const lock = await openLockConnection(database, 5_000);
    try {
      const { rows } = await lock.client.query<Record<string, string>>(
        `select current_setting('jit') as jit, current_setting('datestyle') as datestyle,
                current_setting('statement_timeout') as statement, current_setting('idle_session_timeout') as lease`,
      );
      expect(rows).toEqual([{ jit: 'off', datestyle: 'ISO, MDY', statement: '5s', lease: '5s' }]);
    } finally {
      await lock.end();
    }
  });

  const move = { epoch: 1, from: 0, to: 1, lastUpdate: undefined, recordTimes: new Map<string, string>() };
  it.each([
    ['that moves the checkpoint', checkpointStatement(move)],
    ['that counts a seed', seedStatement(1, 0, 1, null)],
  ])('runs the statement %s without JIT compilation', async (_, { text, values = [] }) => {
    const plan = await database.withClient(async (client) => {
      await client.query('begin');
      await client.query(`prepare change as ${text}`);
      const literals = values.map((value) => (value === null ? 'null' : client.escapeLiteral(String(value))));
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain execute change (${literals.join(', ')})`);
      await client.query('rollback');
      await client.query('deallocate change');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan).toContain('Update on stream');
    expect(plan).not.toContain('JIT');
  });
});
