/**
 * A short run of the chaos suite. It runs some of the crash points and seeds of `npm run chaos`. Whatever happens to
 * the indexer, in the end it stores the same rows as an indexer without faults.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { crashPoints } from './tiers/crash-points.ts';
import { openChaosServer, type ChaosServer } from './databases.ts';
import { Report } from './report.ts';
import { seededTier } from './tiers/seeded.ts';
import type { TierContext } from './tiers/tier.ts';

const databaseUrl = process.env['TEST_DATABASE_URL'];
let server: ChaosServer;

beforeAll(async () => {
  server = await openChaosServer(databaseUrl === '' ? undefined : databaseUrl);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

function contextOf(report: Report, overrides: Partial<TierContext>): TierContext {
  const logLine = (): void => undefined;
  return {
    server,
    report,
    lanes: 2,
    firstSeed: 1,
    seeds: 1,
    stride: 1,
    stepTimeoutMs: 60_000,
    point: undefined,
    fastOnly: false,
    say: logLine,
    ...overrides,
  };
}

it('the indexer stores the same rows when killed before every 40th message of both connections', async () => {
  const report = new Report();
  await crashPoints.run(contextOf(report, { stride: 40 }));
  expect(report.failures).toEqual([]);
  expect(report.crashPoints).toBeGreaterThan(18);
  expect(report.crashPointsEqual).toBe(report.crashPoints);
}, 600_000);

it('the indexer stores the same rows despite more than 40 kinds of faults', async () => {
  const report = new Report();
  await seededTier.run(contextOf(report, { seeds: 18 }));
  expect(report.failures).toEqual([]);
  expect(report.faults).toBeGreaterThan(60);
  expect([...report.hits.values()].filter((count) => count > 0).length).toBeGreaterThan(40);
}, 600_000);
