/**
 * Signals and closed outputs of one process: stop requests at different moments, a closed pipe, and a port in use.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { watchStored, type StoredStream } from '../e2e/runs/stored.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { openRoute } from './road.ts';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const stopTimeoutMs = 6_000;
/** Longer than the time in which a second signal is ignored as an echo of the first. */
const echoMs = 400;

let sandbox: Sandbox;
let database: TestDatabase;
let stored: StoredStream;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3, limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 3, updates: 2_000 });
  database = await createTestDatabase();
  stored = await watchStored(database.url);
});
afterEach(async () => {
  await stored[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
});

function start(env: Readonly<Record<string, string>> = {}, databaseUrl = database.url): Daemon {
  const limits = { INDEXER_STOP_TIMEOUT: `${stopTimeoutMs}ms`, INDEXER_BATCH_UPDATES: '5' };
  return startDaemon({ ledgerUrl: sandbox.url, databaseUrl, schema: 'ledger', env: { ...limits, ...env } });
}

/** Requests a stop and resolves to the exit. If the process does not end, the test times out. */
function stopped(daemon: Daemon): Daemon['exited'] {
  daemon.signal('SIGTERM');
  return daemon.exited;
}

async function expectNoSession(): Promise<void> {
  const sessions = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name like 'ledger-indexer%'`;
  await waitFor('no session is left', async () =>
    (await query(database.url, sessions))[0]?.['n'] === 0 ? true : undefined,
  );
}

describe('SIGTERM', () => {
  it('ends the process with 0 during a batch, without remaining sessions', async () => {
    await using daemon = start({ INDEXER_START: 'genesis' });
    await stored.reaches(daemon, 'ledger', 100);
    expect(await stopped(daemon)).toEqual({ code: 0, signal: null });
    await expectNoSession();
  });

  it('ends the process with 0 during the seed, and the next start completes the seed', async () => {
    await using daemon = start({ INDEXER_BATCH_UPDATES: '1' });
    await waitFor('some of the seed', async () => ((await stored.seeded('ledger')) > 20 ? true : undefined));
    expect(await stopped(daemon)).toEqual({ code: 0, signal: null });
    expect(await stored.checkpoint('ledger')).toBeUndefined();
    await using restartedIndexer = start();
    await stored.reaches(restartedIndexer, 'ledger', sandbox.ledger.ledgerEnd());
  });

  it('ends the process with 0 during a retry delay', async () => {
    await using daemon = start({ INDEXER_RETRY_MAX_DELAY: '1h' }, 'postgres://nobody:x@127.0.0.1:9/none');
    await daemon.logged('store failed, trying again');
    expect(await stopped(daemon)).toEqual({ code: 0, signal: null });
  });

  it('ends the process during a hanging query', async () => {
    await using connectionRoute = await openRoute(database.url);
    await using daemon = start({ INDEXER_START: 'genesis' }, connectionRoute.url);
    await stored.reaches(daemon, 'ledger', 50);
    await connectionRoute.freezeAt('move-checkpoint', 0);
    expect((await stopped(daemon)).signal).toBeNull();
  });

  it('ends the process with 75 on the second signal', async () => {
    await using connectionRoute = await openRoute(database.url);
    // A stop timeout that is longer than the test.
    await using daemon = start({ INDEXER_START: 'genesis', INDEXER_STOP_TIMEOUT: '10m' }, connectionRoute.url);
    await stored.reaches(daemon, 'ledger', 50);
    await connectionRoute.freezeAt('move-checkpoint', 0);
    daemon.signal('SIGTERM');
    await new Promise((resolve) => {
      setTimeout(resolve, echoMs);
    });
    expect(await stopped(daemon)).toEqual({ code: 75, signal: null });
  });
});

describe('a process', () => {
  it('continues when its output pipe is closed, and stops on SIGTERM', async () => {
    const port = await freePort();
    const env = {
      PATH: process.env['PATH'],
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      INDEXER_HTTP_PORT: String(port),
      INDEXER_LOG_LEVEL: 'trace',
    };
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'pipe'], env });
    child.stdout.destroy();
    child.stderr.destroy();
    const whenEnded = new Promise((resolve) => {
      child.once('exit', resolve);
    });
    await waitFor('everything is stored', async () => {
      expect(child.exitCode).toBeNull();
      return ((await stored.checkpoint('ledger')) ?? 0) >= sandbox.ledger.ledgerEnd() ? true : undefined;
    });
    child.kill('SIGTERM');
    expect(await whenEnded).toBe(0);
  });

  it('does not change the database if the HTTP port is in use', async () => {
    const holder = createServer();
    const port = await new Promise<number>((resolve) => {
      holder.listen(0, '127.0.0.1', () => resolve((holder.address() as AddressInfo).port));
    });
    await using daemon = start({ INDEXER_HTTP_PORT: String(port) });
    expect(await daemon.exited).toEqual({ code: 78, signal: null });
    expect(daemon.output()).toContain('HTTP_PORT_TAKEN');
    expect(await query(database.url, `select from pg_namespace where nspname = 'ledger'`)).toEqual([]);
    holder.close();
  });
});

describe('a process of an older release', () => {
  it('exits with SCHEMA_NEWER if a newer release has migrated the schema', async () => {
    await using daemon = start();
    await stored.reaches(daemon, 'ledger', sandbox.ledger.ledgerEnd());
    await query(database.url, `insert into ledger.schema_migrations (id) values ('9999_of_a_newer_release')`);
    await using olderProcess = start();
    expect(await olderProcess.exited).toEqual({ code: 78, signal: null });
    expect(olderProcess.output()).toContain('SCHEMA_NEWER');
    expect(daemon.exit()).toBeUndefined();
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
