/**
 * The quick attempts of `npm run attack` against one indexer: none of them breaks a promise of
 * docs/explanation/security-model.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { needs } from '../support/skips/needs.ts';
import { runGroups } from './campaign.ts';
import { groups } from './groups.ts';
import { World } from './world/world.ts';

const quickGroups = groups.filter((group) => group.quick);

describe('indexer under attack', needs(limitsSkipReason), () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open({ databaseUrl: process.env['TEST_POSTGRES_URL'], updatesPerSecond: 10 });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  it.each(quickGroups)('resists every attempt of the group "$what"', async (group) => {
    const results = await runGroups(world, [group], () => undefined);
    const bad = results.filter(({ held: isHeld, crashed: hasCrashed }) => !isHeld || hasCrashed);
    expect(bad.map(({ id, seen: observation }) => `${id}: ${observation}`)).toEqual([]);
    expect(results.length).toBeGreaterThan(2);
  });

  it('faces more than 100 quick attempts, and all attempt ids are unique', () => {
    const ids = groups.flatMap(({ attempts }) => attempts.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(quickGroups.flatMap(({ attempts }) => attempts).length).toBeGreaterThan(100);
  });
});
