/** Adds earlier history, or views of earlier contracts, while projections are filled. The views equal their SELECTs. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HistoryWorld } from '../history/history-run.ts';
import { waitForHistory } from '../history/extend-filter-world.ts';
import { waitUntilFollowed } from '../history/interface-world.ts';
import { waitFor } from '../support/wait-for.ts';
import { allEqual, compare, turnJitOff, uncoveredCount, useSmallBlocks } from './projected.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(200);
  await turnJitOff(world.database.url);
  await useSmallBlocks(world.database.url, 16);
});
afterEach(() => world.close());

const end = (): number => world.sandbox.ledger.ledgerEnd();
const env = { INDEXER_RETRY_MAX_DELAY: '300ms', INDEXER_START: 'genesis' };

async function waitUntilCovered(): Promise<void> {
  await waitFor(
    'the projections are complete',
    async () => ((await uncoveredCount(world.database.url)) === 0 ? true : undefined),
    60_000,
  );
}

async function rowsOf(view: string): Promise<number> {
  return Number((await world.row(`select count(*)::int as rows from explore.${view}`))['rows']);
}

describe('projections', () => {
  it('include history that a filter extension adds', { timeout: 180_000 }, async () => {
    const tokens = { ...env, LEDGER_INTERFACES: 'tokens' };
    const parties = world.sandbox.ledger.localParties().slice(-3).join();
    await using indexer = await world.run('ledger', { ...tokens, LEDGER_PARTIES: parties });
    await indexer.reaches(end());
    await waitUntilCovered();
    const before = await rowsOf('token_holding_events');
    await world.command('filter extend --yes --with-history --rate 4000', 'ledger', tokens);
    world.grow(30);
    await waitForHistory(world.database.url);
    await indexer.reaches(end());
    expect(await compare(world.database.url)).toEqual(allEqual);
    expect(await rowsOf('token_holding_events')).toBeGreaterThan(before);
    await waitUntilCovered();
    expect(await compare(world.database.url)).toEqual(allEqual);
  });

  it('include views that are backfilled for an interface', { timeout: 180_000 }, async () => {
    {
      await using first = await world.run('ledger', env);
      await first.reaches(end());
      await waitUntilCovered();
    }
    expect(await rowsOf('token_holding_events')).toBe(0);
    const tokens = { ...env, LEDGER_INTERFACES: 'tokens' };
    await world.command('filter accept --yes', 'ledger', tokens);
    await using second = await world.run('ledger', tokens);
    world.grow(30);
    await waitUntilFollowed(world.database.url, 'ledger', 'HoldingV1:Holding');
    await second.reaches(end());
    expect(await compare(world.database.url)).toEqual(allEqual);
    expect(await rowsOf('token_holding_events')).toBeGreaterThan(100);
    await waitUntilCovered();
    expect(await compare(world.database.url)).toEqual(allEqual);
  });
});
