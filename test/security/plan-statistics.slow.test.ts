/** EXPLAIN by a role that is limited to parties reveals nothing about indexed payload fields. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runChecks } from '../../src/cli/check/outcome.ts';
import { readerChecks } from '../../src/cli/check/reader-checks.ts';
import { indexCommand } from '../../src/cli/inspect/index-verb.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { createMissingObjects } from '../../src/store/swap/objects.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { historyOf } from '../read/reader-attempts.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';
import { identity } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { decodeUpdate } from '../support/wire/decode.ts';

const role = `plans_${randomBytes(4).toString('hex')}`;
let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  const storedHistories = [...historyOf('own', frames.alice, 1), ...historyOf('foreign', 'Eve::1220ee', 7)];
  for (const update of storedHistories) batch.add(decodeUpdate(frames.text(update)));
  await session.writeBatch(batch, 0);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

async function index(field: string): Promise<string> {
  const lines: string[] = [];
  const print = (line: string): number => lines.push(line);
  await runCommand(indexCommand, ['create', `payload.${field}`], { DATABASE_URL: testDatabase.url }, { print });
  return lines.join('\n');
}

/** Estimated number of rows with the value, in a join with a million other rows. */
async function estimate(client: Client, field: string, value: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { Plan: { 'Plan Rows': number } }[] }>(
    `explain (format json) select from generate_series(1, 1000000), ledger.contracts where payload ->> '${field}' = '${value}'`,
  );
  return rows[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? Number.NaN;
}

async function asReader<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const url = new URL(testDatabase.url);
  [url.username, url.password] = [role, role];
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const statisticsSql = `select tablename::text as name from pg_stats where schemaname = 'ledger' and tablename like '%payload%'
              union all select stxname from pg_statistic_ext where stxexprs is not null`;

describe('payload values hidden by row security', needs(limitsSkipReason), () => {
  it('appear in no query plan, for an index created before or after the reader was limited', async () => {
    const indexState = await index('secret');
    await query(testDatabase.url, 'analyze ledger.contracts');
    expect(await query(testDatabase.url, statisticsSql)).toHaveLength(2);
    const definitions = `select indexdef from pg_indexes where schemaname = 'ledger' order by indexname`;
    const statisticsBefore = await query(testDatabase.url, definitions);
    await grantReader(database, { role, parties: [frames.alice], password: role, sharedDatabase: true });
    expect(await query(testDatabase.url, definitions)).toEqual(statisticsBefore);
    expect(indexState).toMatch(/^built: /);
    expect(await index('meta.id')).toContain(`limited to parties`);
    await query(testDatabase.url, 'analyze ledger.contracts');
    expect(await query(testDatabase.url, statisticsSql)).toEqual([]);
    const statementLike = (text: string) =>
      expect.objectContaining({ state: 'warn', found: expect.stringContaining(text) as unknown });
    expect(await runChecks(readerChecks(database), 30_000)).toEqual([
      statementLike(`${role} can log in`),
      expect.objectContaining({ name: 'reader settings', state: 'pass' }),
      statementLike(`${role} may create large objects`),
      statementLike(`${role} may take advisory locks`),
      expect.objectContaining({ name: 'reader connections', state: 'pass' }),
      expect.objectContaining({ name: 'temporary files', state: 'pass' }),
    ]);
    await asReader(async (client) => {
      expect(await estimate(client, 'secret', 'foreign')).toBe(await estimate(client, 'secret', 'no value'));
    });
  });

  it('appear in no query plan of a rebuilt schema or of the index procedure in schema pqs', async () => {
    const target = openDatabase({
      url: testDatabase.url,
      schema: 'ledger_beside',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
    });
    await migrate(target);
    await target.transaction((client) => createMissingObjects(client, 'ledger', 'ledger_beside'));
    await target.close();
    const [template] = await query(
      testDatabase.url,
      `select template_fqn as name from explore.templates where kind = 'template'`,
    );
    const templateName = String(template?.['name']);
    await query(
      testDatabase.url,
      `call pqs.create_index_for_contract('by_owner', '${templateName}', 'payload->>''owner''', 'btree')`,
    );
    const targets = await query(
      testDatabase.url,
      `select count(*)::int as n, bool_and(coalesce(a.attstattarget, -1) = 0) as none
         from pg_index i join pg_attribute a on a.attrelid = i.indexrelid
        where i.indrelid in ('ledger.contracts'::regclass, 'ledger_beside.contracts'::regclass)
          and pg_get_indexdef(i.indexrelid) like '%payload%'`,
    );
    expect(targets).toEqual([{ n: 5, none: true }]);
    await query(testDatabase.url, 'analyze');
    expect(await query(testDatabase.url, statisticsSql)).toEqual([]);
  });
});
