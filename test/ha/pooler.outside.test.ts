/** The indexer rejects pgbouncer if it shares a session between clients, and accepts it otherwise. */
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { WriterCandidate } from '../../src/store/lock/writer-lock.ts';
import { program } from '../cli/program.ts';
import { bouncerSkipReason, startBouncer } from '../support/bouncer.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';

async function lockThrough(mode: string, idleClients = 0): Promise<unknown> {
  await using testDatabase = await createTestDatabase();
  await using pgBouncer = await startBouncer(testDatabase.url, mode);
  // These queries leave idle server sessions in the pooler.
  const busyQueries = Array.from({ length: idleClients }, () => query(pgBouncer.url, 'select pg_sleep(0.2)'));
  await Promise.all(busyQueries);
  const options = { url: pgBouncer.url, schema: 'ledger', statementTimeoutMs: 5_000, applicationName: 'test' };
  const database = openDatabase(options);
  const candidate = new WriterCandidate(database, 2_000);
  try {
    return await candidate.tryLock();
  } catch (error) {
    return error;
  } finally {
    await candidate.close();
    await database.close();
  }
}

describe('the writer lock behind pgbouncer', needs(bouncerSkipReason), () => {
  it.each(['transaction', 'statement'])('is rejected in %s mode, with a remedy', async (mode) => {
    for (const idleClients of [0, 4]) {
      expect(await lockThrough(mode, idleClients)).toMatchObject({
        code: 'STORE_POOLER_UNSUPPORTED',
        retry: 'park',
        remedy: expect.stringContaining('pool_mode = session') as string,
      });
    }
  });

  it('is acquired in session mode', async () => {
    expect(await lockThrough('session')).toHaveProperty('release');
  });

  it('makes check fail in transaction mode', { timeout: 180_000 }, async () => {
    await using sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    await using testDatabase = await createTestDatabase();
    await using pgBouncer = await startBouncer(testDatabase.url, 'transaction');
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: pgBouncer.url };
    const { code, stdout } = await program(['check', '--json'], env);
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly name: string }[] };
    expect(checks.find(({ name }) => name === 'pooler')).toMatchObject({
      state: 'fail',
      code: 'STORE_POOLER_UNSUPPORTED',
      fix: expect.stringContaining('pool_mode = session') as string,
    });
  });
});
