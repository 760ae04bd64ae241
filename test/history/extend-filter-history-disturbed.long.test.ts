/**
 * Disturbs the backfill of history for a wider filter: the process is killed at every step, the job is paused, or
 * history is reset.
 */
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import { assertBuilt, startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld } from './history-run.ts';
import { differingRows } from './interface-world.ts';
import { waitUntilClosed, waitForHistory, waitUntilExtended } from './extend-filter-world.ts';

let world: HistoryWorld;
let client: Client;
let previousOptions: Record<string, string>;
beforeEach(async () => {
  // These are more updates than one range contains, including the checkpoints between them.
  world = await HistoryWorld.open(320);
  const someParties = world.sandbox.ledger.localParties().slice(-3);
  previousOptions = { ...widerEnv, LEDGER_PARTIES: someParties.join() };
  client = new Client({ connectionString: world.database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await world.close();
});

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();
const widerEnv = { INDEXER_START: 'genesis', INDEXER_RETRY_MAX_DELAY: '300ms' };
/** At this rate, a range contains only a few updates. */
const slowExtendCommand = 'filter extend --yes --with-history --rate 20';

async function from(): Promise<number> {
  return Number((await world.row('select max(from_offset) as at from ledger.filter_additions'))['at'] ?? -1);
}

const locks = {
  beginning: `select ${readSchemas('ledger').pqs}.__retention_lock()`,
  middle: 'lock table ledger.contracts in share mode',
  end: 'lock table ledger.filter_additions in share mode',
};

/**
 * Makes every range wait for this lock until `release` is called: at its beginning, with some of its rows written, or
 * with all of them.
 */
async function holdLock(lockName: keyof typeof locks): Promise<() => Promise<void>> {
  await client.query(`begin; ${locks[lockName]}`);
  return async () => {
    await client.query('rollback');
  };
}

/** Waits until a range waits for the lock. */
async function waitForRange(): Promise<void> {
  await waitFor('a range waits', async () => {
    const waitingRow = await query(
      url(),
      `select from pg_stat_activity where application_name like 'ledger-indexer history%' and wait_event_type = 'Lock'`,
    );
    return waitingRow.length > 0 ? true : undefined;
  });
}

async function waitForOffsetBelow(offset: number): Promise<number> {
  return waitFor('a range is stored', async () => {
    const fromOffset = await from();
    return fromOffset >= 0 && fromOffset < offset ? fromOffset : undefined;
  });
}

it('filter extend --with-history stores all rows after kills within and between offset ranges', async () => {
  assertBuilt();
  await world.index('ledger', previousOptions);
  await world.command(slowExtendCommand, 'ledger', widerEnv);
  const start = (env: Record<string, string>): Daemon =>
    startDaemon({ ledgerUrl: world.sandbox.url, databaseUrl: url(), schema: 'ledger', env });
  let release: (() => Promise<void>) | undefined;
  const reachedSteps: number[] = [];
  for (const step of ['asked', 'beginning', 'end', 'between', 'middle', 'between'] as const) {
    await using daemon = start(reachedSteps.length % 2 === 0 ? previousOptions : widerEnv);
    world.grow(3);
    if (step !== 'asked') await waitUntilExtended(world);
    if (step === 'between') await waitForOffsetBelow(await from());
    else if (step !== 'asked') {
      release = await holdLock(step);
      await waitForRange();
    }
    await daemon.kill();
    await release?.();
    release = undefined;
    reachedSteps.push(await from());
  }
  console.log(`killed where updates were complete from ${reachedSteps.join(', ')} on`);
  expect(new Set(reachedSteps).size).toBeGreaterThan(2);
  expect((await world.row(`select state from ledger.jobs where name = 'history'`))['state']).toBe('working');
  await using last = await world.run('ledger', previousOptions);
  await waitForHistory(url());
  await last.reaches(end());
  await world.index('fresh', widerEnv);
  expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  expect(await world.broken()).toEqual([]);
}, 120_000);

it('filter extend --with-history stores all rows after a pause, a reset and jobs resume', async () => {
  let fromOffset = -1;
  {
    await using indexer = await world.run('ledger', previousOptions);
    await indexer.reaches(end());
    await world.command(slowExtendCommand, 'ledger', widerEnv);
    await waitUntilExtended(world);
    const extendedAt = await from();
    await waitForOffsetBelow(extendedAt);
    await world.command('jobs pause history');
    await expect(
      world.command('filter extend --yes', 'ledger', { ...widerEnv, LEDGER_CREATED_EVENT_BLOBS: 'true' }),
    ).rejects.toMatchObject({
      code: 'FILTER_EXTEND_REFUSED',
    });
    await waitUntilClosed(url(), 'history');
    fromOffset = await from();
    expect(fromOffset).toBeGreaterThan(0);
  }
  // The job must find the contracts that were active at this offset again.
  await world.command(`reset --to ${String(fromOffset + 5)} --yes`, 'ledger', widerEnv);
  await using restartedIndexer = await world.run('ledger', previousOptions);
  await world.command('jobs resume history');
  await waitForHistory(url());
  await restartedIndexer.reaches(end());
  await world.index('fresh', widerEnv);
  expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  expect(await world.broken()).toEqual([]);
});
