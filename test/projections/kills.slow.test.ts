/**
 * Kills the indexer while projections are filled, invalidated and computed by another SELECT. After each kill, stored
 * rows equal their SELECTs. In the end, the projections are complete.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { pause } from '../support/wait-for.ts';
import { historyChanges, killRepeatedly } from './kill-campaign.ts';
import { allEqual, compare, turnJitOff, uncoveredCount, useSmallBlocks } from './projected.ts';

/** Number of SIGKILLs. `PROJECTION_KILLS=200 npx vitest run test/projections/kills.slow.test.ts` runs more. */
const kills = Number(process.env['PROJECTION_KILLS'] ?? 6);
const env = {
  LEDGER_INTERFACES: 'tokens',
  INDEXER_START: 'genesis',
  INDEXER_PROJECTIONS: 'built-in',
  INDEXER_BATCH_UPDATES: '20',
};

describe(`projections of an indexer that is killed ${String(kills)} times`, () => {
  it('equal their SELECTs after each kill', { timeout: 120_000 + kills * 20_000 }, async () => {
    const world = await HistoryWorld.open(400);
    const { url } = world.database;
    await turnJitOff(url);
    await useSmallBlocks(url, 16);
    const random = new Random(17);
    try {
      await killRepeatedly({
        world,
        env,
        kills,
        changes: Object.values(historyChanges(world, env)),
        isLive: () => false,
        moment: () => pause(random.between(0, 900)),
        uncovered: () => uncoveredCount(url),
        compare: async () => undefined,
      });
      expect(await compare(url)).toEqual(allEqual);
    } finally {
      await world.close();
    }
  });
});
