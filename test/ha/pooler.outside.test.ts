/** The indexer rejects pgbouncer if it shares a session between clients, and accepts it otherwise. */
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { WriterCandidate } from '../../src/store/lock/writer-lock.ts';
import { program } from '../cli/program.ts';
import { noBouncer, startBouncer } from '../support/bouncer.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';

async function lockThrough(mode: string, idle = 0): Promise<unknown> {
  await using created = await createTestDatabase();
  await using bouncer = await startBouncer(created.url, mode);
  // These queries leave idle server sessions in the pooler.
  const busy = Array.from({ length: idle }, () => query(bouncer.url, 'select pg_sleep(0.2)'));
  await Promise.all(busy);
  const options = { url: bouncer.url, schema: 'ledger', statementTimeoutMs: 5_000, applicationName: 'test' };
  const database = openDatabase(options);
  const candidate = new WriterCandidate(database, 2_000);
  try {
    return await candidate.tryLock();
  } catch (thrown) {
    return thrown;
  } finally {
    await candidate.close();
    await database.close();
  }
}

describe('the writer lock behind pgbouncer', needs(noBouncer), () => {
  it.each(['transaction', 'statement'])('is rejected in %s mode, with a remedy', async (mode) => {
    for (const idle of [0, 4]) {
      expect(await lockThrough(mode, idle)).toMatchObject({
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
    await using created = await createTestDatabase();
    await using bouncer = await startBouncer(created.url, 'transaction');
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: bouncer.url };
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
