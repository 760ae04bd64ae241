/**
 * Counts the connections of an indexer in Postgres, and tests that `check` warns about connection limits that are too
 * low.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { compareConnections } from '../../src/cli/check/connection-check.ts';
import { loadConfig } from '../../src/config/config.ts';
import { connectionNeeds } from '../../src/indexer/connections.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { connectionLimits } from '../../src/store/connection/inspection.ts';
import { programInProcess } from '../cli/in-process.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

const maxConnections = connectionNeeds(loadConfig({}));

describe('the table of docs/reference/connections.md', () => {
  const page = readFileSync(new URL('../../docs/reference/connections.md', import.meta.url), 'utf8');

  it('contains the same numbers as the code', () => {
    expect(page).toMatch(new RegExp(`\\| \\*\\*Total\\*\\* +\\| ${String(maxConnections.always)} `));
    expect(page).toMatch(new RegExp(`\\| \\*\\*Total with all jobs\\*\\* +\\| ${String(maxConnections.withJobs)} `));
  });
});

describe('indexer connections', () => {
  let sandbox: Sandbox;
  let database: TestDatabase;

  beforeAll(async () => {
    sandbox = await startSandbox({});
    database = await createMigratedDatabase(['ledger']);
  });
  afterAll(async () => {
    await sandbox.close();
    await database.drop();
  });

  it('stay within the documented limit with 40 clients', async () => {
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      POSTGRES_SCHEMA: 'ledger',
      INDEXER_CHANGES_MAX_CLIENTS: '100',
    });
    await waitFor('it follows', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    const abortClients = new AbortController();
    const clients = Array.from({ length: 40 }, (_, index) =>
      fetch(`${indexer.httpUrl}/changes?after=0&unseen=allow&template=p:M:T${String(index)}`, {
        signal: abortClients.signal,
      }),
    );
    const wrongToken = { authorization: `Bearer lir_${randomBytes(32).toString('base64url')}` };
    const otherRows = Array.from({ length: 20 }, () => [
      fetch(`${indexer.httpUrl}/changes`, { headers: wrongToken }),
      fetch(`${indexer.httpUrl}/update?offset=1`),
    ]).flat();
    await Promise.allSettled(otherRows);
    const responses = await Promise.all(clients);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    const sessions = (await query(
      database.url,
      `select application_name as application, count(*)::int as count from pg_stat_activity
        where datname = current_database() and application_name like 'ledger-indexer%' group by 1 order by 1`,
    )) as readonly { readonly application: string; readonly count: number }[];
    abortClients.abort();
    const count = new Map(sessions.map((session) => [session.application, session.count]));
    expect([...count.values()].reduce((sum, connections) => sum + connections, 0)).toBeLessThanOrEqual(
      maxConnections.always,
    );
    expect(count.get('ledger-indexer changes')).toBeLessThanOrEqual(4);
    expect(count.get('ledger-indexer lookups')).toBe(1);
    expect(count.size).toBeLessThanOrEqual(5);
  });

  it('cause a warning of check if the role may open fewer connections', async () => {
    const role = `few_${randomBytes(4).toString('hex')}`;
    const url = new URL(database.url);
    url.username = role;
    url.password = 'x';
    await query(
      database.url,
      `create role ${role} login password 'x' connection limit ${String(maxConnections.always + 1)}`,
    );
    const limits = openDatabase({
      url: url.href,
      schema: 'ledger',
      statementTimeoutMs: 5_000,
      applicationName: 'ledger-indexer test',
    });
    try {
      // Sessions of other roles are counted, although the role may not see their queries.
      const otherConnections = (await connectionLimits(limits)).others;
      const otherClient = new Client({ connectionString: database.url });
      await otherClient.connect();
      expect((await connectionLimits(limits)).others).toBeGreaterThan(otherConnections);
      await otherClient.end();
      const { stdout } = await programInProcess(['check', '--json'], {
        DATABASE_URL: url.href,
        LEDGER_URL: sandbox.url,
        POSTGRES_SCHEMA: 'ledger',
      });
      const { checks } = JSON.parse(stdout) as { checks: readonly { name: string }[] };
      expect(checks.find(({ name }) => name === 'connections')).toMatchObject({
        state: 'warn',
        found: `an indexer has up to ${String(maxConnections.always)} connections, ${String(maxConnections.withJobs)} with all background jobs; the limit of this role is ${String(maxConnections.always + 1)}`,
        fix: expect.stringContaining(`connection limit ${String(maxConnections.withJobs)}`) as unknown,
      });
    } finally {
      await limits.close();
      await query(database.url, `drop role ${role}`);
    }
  });
});

describe('check', () => {
  const freeLimits = { role: null, database: null, server: 97, others: 3 };

  it.each([
    ['passes with enough connections', freeLimits, 'pass', 'the limit of all sessions of the server is 97'],
    [
      'fails with fewer connections than the minimum',
      { ...freeLimits, role: 5 },
      'fail',
      'the limit of this role is 5',
    ],
    [
      'warns about too few connections for background jobs',
      { ...freeLimits, database: 15 },
      'warn',
      'all sessions of this database',
    ],
    ['warns if other programs use most connections', { ...freeLimits, others: 90 }, 'warn', '90 of 97 open now'],
  ])('%s', (_, limits, state, found) => {
    const judged = compareConnections({ always: 11, withJobs: 21 }, limits);
    expect(judged).toMatchObject({ state, found: expect.stringContaining(found) as unknown });
  });
});
