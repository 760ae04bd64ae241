/**
 * The quick attempts of `npm run attack` against one indexer: none of them breaks a promise of
 * docs/explanation/security-model.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noLimits } from '../support/skips/server-version.ts';
import { needs } from '../support/skips/needs.ts';
import { runGroups } from './campaign.ts';
import { groups } from './groups.ts';
import { World } from './world/world.ts';

const quick = groups.filter((group) => group.quick);

describe('an indexer behind a ledger with traffic', needs(noLimits), () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open({ databaseUrl: process.env['TEST_POSTGRES_URL'], updatesPerSecond: 10 });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  it.each(quick)('keeps its promises against $what', async (group) => {
    const results = await runGroups(world, [group], () => undefined);
    const bad = results.filter(({ held, crashed }) => !held || crashed);
    expect(bad.map(({ id, seen }) => `${id}: ${seen}`)).toEqual([]);
    expect(results.length).toBeGreaterThan(2);
  });

  it('is attacked by more than a hundred quick attempts, each with a unique name', () => {
    const ids = groups.flatMap(({ attempts }) => attempts.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(quick.flatMap(({ attempts }) => attempts).length).toBeGreaterThan(100);
  });
});
