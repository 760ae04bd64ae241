/** docs/sql.md, README.md and the greeting against a database that the indexer filled: every query runs and has its rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withDiagram } from '../../scripts/schema/schema-diagram.ts';
import { storedTables } from '../../scripts/schema/schema-tables.ts';
import { greeting } from '../../src/cli/demo/greeting.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const docs = join(import.meta.dirname, '../../docs');
const doc = readFileSync(join(docs, 'sql.md'), 'utf8');

interface Query {
  readonly sql: string;
  readonly hasRows: boolean;
  /** The words in bold before it, or the heading. */
  readonly title: string;
}

const queries: readonly Query[] = [...doc.matchAll(/(<!-- has rows -->\s+)?^ *```sql\n(.*?)^ *```/gms)].map((found) => {
  const title = [...doc.slice(0, found.index).matchAll(/\*\*(.+?)\*\*|^#+ (.+)$/gm)].at(-1);
  return { sql: found[2] ?? '', hasRows: found[1] !== undefined, title: title?.[1] ?? title?.[2] ?? '' };
});

let sandbox: Sandbox;
let created: TestDatabase;
let database: Database;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  // Half an hour before now and more, so that "ten minutes ago" is in the middle.
  generateHistory(sandbox.ledger, { seed: 5, updates: 3_000, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
  created = await createTestDatabase();
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: created.url,
    LEDGER_INTERFACES: demoInterfaces.join(','),
    INDEXER_START: 'genesis',
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  const options = { schema: 'ledger', statementTimeoutMs: 20_000, applicationName: 'test' };
  database = openDatabase({ url: created.url, ...options });
  // What the page has the administrator make for a table of one's own.
  await database.withClient((client) => client.query('create schema reports'));
});
afterAll(async () => {
  await database.close();
  await sandbox.close();
  await created.drop();
});

describe('docs/sql.md', () => {
  it('has twenty numbered queries', () => {
    const numbers = queries.flatMap(({ title }) => /^(\d+)\. /.exec(title)?.[1] ?? []).map(Number);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it.each(queries)('$title', async ({ sql, hasRows }) => {
    const { rows } = await database.withClient((client) => client.query<Record<string, unknown>>(sql));
    if (!hasRows) return;
    expect(rows).not.toHaveLength(0);
    // A column in which nothing stands would hide a misspelled path of the payload.
    const empty = Object.keys(rows[0] ?? {}).filter((name) => rows.every((row) => row[name] === null));
    expect(empty.filter((name) => !mayBeEmpty.has(name))).toEqual([]);
  });

  it('has a diagram of the tables as they are', async () => {
    const page = readFileSync(join(docs, 'sql.md'), 'utf8');
    expect(page).toContain('erDiagram');
    expect(withDiagram(page, await storedTables(database))).toBe(page);
  });
});

describe('what a new user pastes first', () => {
  const run = async (sql: string): Promise<number> =>
    (await database.withClient((client) => client.query(sql))).rows.length;

  it('are queries of the views for people, with rows: the greeting', async () => {
    const sides = { ledgerUrl: '', databaseUrl: '', embeddedLedger: false, embeddedDatabase: true };
    const queries = greeting(sides, '', 'ledger').match(/^ {4}select [^;]+;$/gm) ?? [];
    expect(queries).toHaveLength(3);
    for (const sql of queries) {
      expect(sql).toMatch(/from (?:explore|typed)\./);
      expect(await run(sql), sql).toBeGreaterThan(0);
    }
  });

  it('is a query with the columns that README.md shows, with rows', async () => {
    const readme = readFileSync(join(docs, '../README.md'), 'utf8');
    const [, sql = '', output = ''] = /```sql\n(.*?)```.*?```text\n(.*?)```/s.exec(readme) ?? [];
    const { rows } = await database.withClient((client) => client.query<Record<string, unknown>>(sql));
    const header = output.split('\n')[0] ?? '';
    expect(header.split('|').map((name) => name.trim())).toEqual(Object.keys(rows[0] ?? {}));
    expect(rows).not.toHaveLength(0);
  });
});

/** The traffic of the demo knows no workflows. */
// Not every update replaces a contract, and few contracts go to another synchronizer.
const mayBeEmpty = new Set(['workflow_id', 'version', 'contact_point', 'changed', 'other_contract_id', 'target']);
