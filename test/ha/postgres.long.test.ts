/** Postgres faults while a daemon runs: read-only mode, no free connections, changed tables, changed passwords. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { deferred } from '../support/deferred.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

let sandbox: Sandbox;
let database: TestDatabase;
let growLedger: (updates: number) => void;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
  const steps = new Steps(sandbox.ledger, 5);
  let updateCount = 0;
  growLedger = (updates) => {
    for (const end = updateCount + updates; updateCount < end; updateCount += 1)
      steps.step(startAt + updateCount * 1_000_000);
  };
  growLedger(30);
  database = await createTestDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

const run = (url = database.url, env: Readonly<Record<string, string>> = {}): Promise<IndexerRun> =>
  runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: url, INDEXER_LEASE: '2s', ...env });

async function fails(indexer: IndexerRun, state: string, code: string): Promise<void> {
  await waitFor(`${state} because of ${code}`, async () => {
    const status = await indexer.status();
    return status.state === state && JSON.stringify(status.lastError).includes(code) ? true : undefined;
  });
}

async function waitForProgress(indexer: IndexerRun, limitMs?: number): Promise<void> {
  growLedger(10);
  await indexer.reaches(sandbox.ledger.ledgerEnd(), limitMs);
}

const disconnect = (): Promise<unknown> =>
  query(
    database.url,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  );

interface Role extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
}

async function ownRole(): Promise<Role> {
  const name = `ha_${randomBytes(6).toString('hex')}`;
  await query(database.url, `create role ${name} login password 'first'`);
  const url = new URL(database.url);
  await query(database.url, `grant create on database ${url.pathname.slice(1)} to ${name}`);
  Object.assign(url, { username: name, password: 'first' });
  return {
    name,
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      await query(database.url, `drop owned by ${name} cascade`);
      await query(database.url, `drop role ${name}`);
    },
  };
}

describe('a running daemon', () => {
  it('waits while the database is read-only, and resumes automatically', async () => {
    await using indexer = await run();
    await waitForProgress(indexer);
    const name = new URL(database.url).pathname.slice(1);
    await query(database.url, `alter database ${name} set default_transaction_read_only = on`);
    await disconnect();
    await fails(indexer, 'backing_off', 'STORE_READ_ONLY');
    // Uses another database, because this one is read-only.
    await query(process.env['TEST_POSTGRES_URL'] ?? '', `alter database ${name} reset default_transaction_read_only`);
    await disconnect();
    await waitForProgress(indexer);
  });

  it('waits while its role has no free connections, and resumes automatically', async () => {
    await using role = await ownRole();
    await using indexer = await run(role.url);
    await waitForProgress(indexer);
    await query(database.url, `alter role ${role.name} connection limit 0`);
    await disconnect();
    await fails(indexer, 'backing_off', 'STORE_TOO_MANY_CONNECTIONS');
    await query(database.url, `alter role ${role.name} connection limit -1`);
    await waitForProgress(indexer);
  });

  it('backs off after its password is changed, and resumes after the change is reverted', async () => {
    await using role = await ownRole();
    await using indexer = await run(role.url);
    await waitForProgress(indexer);
    await query(database.url, `alter role ${role.name} password 'second'`);
    await disconnect();
    await fails(indexer, 'backing_off', 'STORE_PASSWORD_REFUSED');
    await query(database.url, `alter role ${role.name} password 'first'`);
    await waitForProgress(indexer);
    expect(indexer.log.join('\n')).not.toMatch(/first|second/);
  });

  it('reads a changed password from the file that contains its URL', async () => {
    await using role = await ownRole();
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-url-'));
    const file = join(folder, 'url');
    await writeFile(file, `${role.url}\n`);
    await using indexer = await run(role.url, { DATABASE_URL_FILE: file });
    await waitForProgress(indexer);
    await query(database.url, `alter role ${role.name} password 'second'`);
    await writeFile(file, role.url.replace(':first@', ':second@'));
    await disconnect();
    await waitForProgress(indexer);
    await rm(folder, { recursive: true });
  });

  it('parks without changes if a column is missing, and releases the writer lock', async () => {
    await using indexer = await run();
    await waitForProgress(indexer);
    await query(database.url, 'alter table ledger.updates rename column workflow_id to workflow');
    const checkpointBefore = await query(database.url, 'select checkpoint from ledger.stream');
    growLedger(5);
    await fails(indexer, 'parked', 'STORE_SCHEMA_MISMATCH');
    expect(await query(database.url, 'select checkpoint from ledger.stream')).toEqual(checkpointBefore);
    await query(database.url, 'alter table ledger.updates rename column workflow to workflow_id');
    await using otherIndexer = await run();
    // The parked indexer has released the lock, so a working writer can acquire it.
    await waitForProgress(otherIndexer);
  });
});

describe('a transaction of a writer', () => {
  it('is ended by the server when it is idle, and its locks are released', async () => {
    const frozenDatabase = openDatabase({
      url: database.url,
      schema: 'public',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
      idleInTransactionMs: 500,
    });
    await query(database.url, 'create table held (n int); insert into held values (1)');
    const whenLocked = deferred();
    const unfreeze = deferred();
    const openTransaction = frozenDatabase.transaction(async (client) => {
      await client.query('update held set n = 2');
      whenLocked.resolve();
      await unfreeze.promise;
      await client.query('select 1');
    });
    const outcome = expect(openTransaction).rejects.toMatchObject({ retry: 'retry' });
    await whenLocked.promise;
    await query(database.url, 'update held set n = n + 10');
    unfreeze.resolve();
    await outcome;
    expect(await query(database.url, 'select n from held')).toEqual([{ n: 11 }]);
    await frozenDatabase.close();
  });
});

describe('a migration', () => {
  it('fails with STORE_LOCKED while a reader has locked the table', async () => {
    const store = openDatabase({
      url: database.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
    });
    await migrate(store, { files: [{ id: '0001_one', sql: 'create table one (id int)' }] });
    const reader = new Client({ connectionString: database.url });
    await reader.connect();
    await reader.query('begin; select * from ledger.one');
    const steps = [
      { id: '0001_one', sql: 'create table one (id int)' },
      { id: '0002_more', sql: 'alter table one add column more int' },
    ];
    await expect(migrate(store, { files: steps })).rejects.toMatchObject({ code: 'STORE_LOCKED', retry: 'retry' });
    await reader.query('commit');
    await reader.end();
    expect(await migrate(store, { files: steps })).toEqual(['0002_more']);
    await store.close();
  });
});
