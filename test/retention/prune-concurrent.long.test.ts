/** Prunes while a loaded writer runs, and kills a prune. No data may be lost, and the writer must not be blocked. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/connection/database.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { createRetentionWorld, retainedFacts, type RetentionWorld } from './retention-world.ts';

let world: RetentionWorld;
beforeAll(async () => {
  world = await createRetentionWorld(13, 800);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('prune', () => {
  it('runs concurrently with a loaded writer without errors, and keeps the data above the boundary', async () => {
    const env = { INDEXER_BATCH_UPDATES: '5', INDEXER_WRITE_CONCURRENCY: '2' };
    const options = { statementTimeoutMs: 60_000, applicationName: 'test', maxConnections: 1 };
    const database = openDatabase({ url: world.url, schema: 'busy', ...options });
    let boundary = 0;
    let batches = 0;
    {
      await using indexer = await world.index('busy', env);
      await indexer.reaches(300, 60_000);
      const end = world.sandbox.ledger.ledgerEnd();
      const whenGrown = (async () => {
        for (let step = 0; step < 40; step += 1) {
          world.grow(25);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      })();
      // The boundary is always the checkpoint, so that it is as close to the writer as possible.
      while (boundary < end) {
        const pruneResult = await prune(
          database,
          { offset: 999_999_999 },
          { stop: new AbortController().signal, batchRows: 30 },
        );
        expect(pruneResult.finished).toBe(true);
        boundary = pruneResult.boundary;
        batches += pruneResult.batches;
      }
      await whenGrown;
      await indexer.reaches(world.sandbox.ledger.ledgerEnd(), 60_000);
      expect(indexer.logged('backing off')).toBe(0);
      expect(indexer.logged('parked: an operator is needed')).toBe(0);
    }
    await database.close();
    expect(batches).toBeGreaterThan(20);
    await world.fill('quiet');
    expect(await retainedFacts(world, 'busy', boundary)).toEqual(await retainedFacts(world, 'quiet', boundary));
  }, 180_000);

  it('resumes after kill -9 with the same result', async () => {
    assertBuilt();
    await world.fill('killed');
    await world.fill('whole');
    const boundary = Math.floor(world.sandbox.ledger.ledgerEnd() / 2);
    // A lock on the last pruned update blocks the prune in its last transactions.
    await world.query('begin');
    const [progressRow] = await world.query<{ offset: string }>(
      `select u."offset" from killed.updates u
        where "offset" <= $1 and not exists (select from killed.contracts c where c."offset" = u."offset")
        order by "offset" desc limit 1 for update`,
      [boundary],
    );
    expect(Number(progressRow?.offset)).toBeGreaterThan(0);
    const child = spawn(process.execPath, [program, 'prune', '--before', String(boundary), '--yes'], {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], DATABASE_URL: world.url, POSTGRES_SCHEMA: 'killed' },
    });
    const waitingSql = `select from pg_stat_activity where application_name = 'ledger-indexer prune' and wait_event_type = 'Lock'`;
    await waitFor('prune waits for the lock', async () =>
      (await query(world.url, waitingSql)).length > 0 ? true : undefined,
    );
    child.kill('SIGKILL');
    await once(child, 'close');
    await world.query('rollback');
    const endedSql = `select from pg_stat_activity where application_name = 'ledger-indexer prune'`;
    await waitFor('its connection is gone', async () =>
      (await query(world.url, endedSql)).length === 0 ? true : undefined,
    );
    const [halfwayRow] = await world.query(
      `select (select pruned_to_offset::int from killed.stream) as kept,
              (select count(*) > 0 from killed.exercises where "offset" <= $1) as left,
              (select count(*)::int from killed.lifetimes where deactivated_offset <= $1) as ended`,
      [boundary],
    );
    expect(halfwayRow).toEqual({ kept: boundary, left: true, ended: 0 });
    await world.prune('killed', '--before', String(boundary), '--yes');
    await world.prune('whole', '--before', String(boundary), '--yes');
    expect(await digestOf(world.url, 'killed')).toBe(await digestOf(world.url, 'whole'));
  }, 180_000);
});
