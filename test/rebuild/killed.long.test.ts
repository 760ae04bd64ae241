/**
 * Kills `rebuild` at each of its steps and at random moments, and also kills the indexer. At the end, the data must
 * equal a fresh index, and a swap must have happened completely or not at all.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { digestOf } from '../support/digest.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { rebuild, value, fromGenesis } from './world.ts';
import { startRebuild, steps } from './process.ts';

let world: HistoryWorld;
let indexer: Daemon;
beforeAll(async () => {
  world = await HistoryWorld.open(120);
  indexer = startIndexer();
  await expectStored();
});
afterAll(async () => {
  await indexer.kill();
  await world.close();
});

function startIndexer(): Daemon {
  const { url: ledgerUrl } = world.sandbox;
  return startDaemon({
    ledgerUrl,
    databaseUrl: world.database.url,
    schema: 'ledger',
    env: { ...fromGenesis, INDEXER_LEASE: '2s' },
  });
}

/** Waits until the live schema has all updates of the ledger. */
async function expectStored(): Promise<void> {
  await waitFor('everything is stored', async () =>
    (await world.checkpoint().catch(() => -1)) >= world.sandbox.ledger.ledgerEnd() ? true : undefined,
  );
}

const isSwapped = async (): Promise<boolean> =>
  (await value(world, `select count(*) from pg_namespace where nspname = 'ledger_previous'`)) === '1';

/** The three omitted steps are in one transaction with "carrying". `npm run chaos -- --operations` uses all steps. */
const killedAt = steps.filter((step) => !['locking', 'renaming', 're-creating views'].includes(step));

describe('interrupted rebuild', { timeout: 240_000 }, () => {
  it.each(killedAt)('resumes without lost or duplicate rows after a kill at "%s"', async (step) => {
    const target = { ledgerUrl: world.sandbox.url, databaseUrl: world.database.url };
    const child = startRebuild(target, ['--yes']);
    await child.says(step);
    await child.kill();
    const swapLine = await waitFor('the server has seen its end', async () => {
      const remainingState = await value(
        world,
        `select count(*) from pg_stat_activity where application_name = 'ledger-indexer rebuild'`,
      );
      return remainingState === '0' ? isSwapped() : undefined;
    });
    world.grow(20);
    await expectStored();
    if (!swapLine) {
      const secondRebuild = startRebuild(target, ['--yes']);
      expect(await secondRebuild.ended(), secondRebuild.output()).toBe(0);
    }
    expect(await isSwapped()).toBe(true);
    world.grow(20);
    await expectStored();
    await world.index('fresh', fromGenesis);
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
    await rebuild(world, '--drop-previous --yes');
  });

  it('completes the swap although the indexer is killed and restarted', async () => {
    const child = startRebuild({ ledgerUrl: world.sandbox.url, databaseUrl: world.database.url }, ['--yes']);
    await child.says('requesting the writer lock');
    await indexer.kill();
    expect(await child.ended(), child.output()).toBe(0);
    indexer = startIndexer();
    await pause(10);
    world.grow(20);
    await expectStored();
    expect(await world.broken()).toEqual([]);
  });
});
