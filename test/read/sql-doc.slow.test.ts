/**
 * Runs the queries of the documentation, README.md and the startup banner on a database that the indexer filled. Every
 * query must return rows.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withDiagram } from '../../scripts/schema/schema-diagram.ts';
import { storedTables } from '../../scripts/schema/schema-tables.ts';
import { formatBanner } from '../../src/cli/demo/banner.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { documentedQueries, queryPages } from '../docs/documented.ts';

const docs = join(import.meta.dirname, '../../docs');

let sandbox: Sandbox;
let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  // The history covers the last 50 minutes, so that "ten minutes ago" is within it.
  generateHistory(sandbox.ledger, { seed: 5, updates: 3_000, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
  testDatabase = await createTestDatabase();
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: testDatabase.url,
    LEDGER_INTERFACES: demoInterfaces.join(','),
    INDEXER_START: 'genesis',
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  const options = { schema: 'ledger', statementTimeoutMs: 20_000, applicationName: 'test' };
  database = openDatabase({ url: testDatabase.url, ...options });
  // The administrator does this in how-to/query/own-tables.md.
  await database.withClient((client) => client.query('create schema reports'));
});
afterAll(async () => {
  await database.close();
  await sandbox.close();
  await testDatabase.drop();
});

describe('documented queries', () => {
  it('are more than 50, of which five are on first-queries.md', () => {
    const counts = Object.fromEntries(
      queryPages.map((page) => [page, documentedQueries.filter((query) => query.page === page).length]),
    );
    expect(counts['docs/get-started/first-queries.md']).toBe(5);
    expect(queryPages.length).toBeGreaterThan(9);
    expect(documentedQueries.length).toBeGreaterThan(50);
  });

  it.each(documentedQueries)('run without error: $page, $title', async ({ sql, hasRows }) => {
    const { rows } = await database.withClient((client) => client.query<Record<string, unknown>>(sql));
    if (!hasRows) return;
    expect(rows).not.toHaveLength(0);
    // An empty column could be a misspelled path in the payload.
    const empty = Object.keys(rows[0] ?? {}).filter((name) => rows.every((row) => row[name] === null));
    expect(empty.filter((name) => !emptyColumns.has(name))).toEqual([]);
  });
});

describe('docs/reference', () => {
  const catalog = async (sql: string): Promise<readonly string[]> =>
    (await database.withClient((client) => client.query<{ name: string }>(sql))).rows.map(({ name }) => name);
  /** The rows of the table below a heading of sql-schemas.md. */
  const listedColumns = (heading: string): string => {
    const page = readFileSync(join(docs, 'reference/sql-schemas.md'), 'utf8');
    return page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  };

  it('has a diagram of the tables that matches the database catalog', async () => {
    const page = readFileSync(join(docs, 'reference/storage-tables.md'), 'utf8');
    expect(page).toContain('erDiagram');
    expect(withDiagram(page, await storedTables(database))).toBe(page);
  });

  it('lists every view of schema explore', async () => {
    const names = [...listedColumns('Views of `explore`').matchAll(/^\| (`.+?) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    );
    expect(names.toSorted()).toEqual(
      await catalog(`select viewname as name from pg_views where schemaname = 'explore' order by viewname collate "C"`),
    );
  });

  it('lists only existing functions of schema explore', async () => {
    const names = [...listedColumns('Functions of `explore`').matchAll(/`(\w+)\(/g)].map(([, name = '']) => name);
    const catalogNames = new Set(
      await catalog(`select proname as name from pg_proc where pronamespace = 'explore'::regnamespace`),
    );
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !catalogNames.has(name))).toEqual([]);
  });
});

describe('first queries of a new user', () => {
  const run = async (sql: string): Promise<number> =>
    (await database.withClient((client) => client.query(sql))).rows.length;

  it('return rows of explore and typed views if copied from the startup banner', async () => {
    const connectionUrls = { ledgerUrl: '', databaseUrl: '', embeddedLedger: false, embeddedDatabase: true };
    const queries = formatBanner(connectionUrls, '', 'ledger').match(/^ {4}select [^;]+;$/gm) ?? [];
    expect(queries).toHaveLength(3);
    for (const sql of queries) {
      expect(sql).toMatch(/from (?:explore|typed)\./);
      expect(await run(sql), sql).toBeGreaterThan(0);
    }
  });

  it('return rows with the printed columns if copied from README.md', async () => {
    const readme = readFileSync(join(docs, '../README.md'), 'utf8');
    const [, sql = '', output = ''] = /```sql\n(.*?)```.*?```text\n(.*?)```/s.exec(readme) ?? [];
    const { rows } = await database.withClient((client) => client.query<Record<string, unknown>>(sql));
    const header = output.split('\n')[0] ?? '';
    expect(header.split('|').map((name) => name.trim())).toEqual(Object.keys(rows[0] ?? {}));
    expect(rows).not.toHaveLength(0);
  });
});

// The traffic of the demo has no workflows, few updates replace a contract, and few contracts are reassigned.
const emptyColumns = new Set(['workflow_id', 'version', 'contact_point', 'changed', 'other_contract_id', 'target']);
