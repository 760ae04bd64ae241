/**
 * Readers of `/api` of random histories: every route returns the rows that SQL returns with the same role, and no word
 * of what a model, computed from the history alone, hides from the reader. `TEST_RUNS` sets the number of histories,
 * and `TEST_SEED` the first seed.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { storedRoutes } from '../../src/store/api/routes.ts';
import { PrivateHistory } from '../security/privacy-history.ts';
import { printRepeatCommand, runsFor, seedFor } from '../support/chance/property.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { LeakWorld } from './leaks/leak-world.ts';
import { ReaderTrial, type TrialFacts } from './leaks/reader-trial.ts';

const firstSeed = seedFor();
const histories = runsFor(3);
printRepeatCommand(firstSeed, histories);
/** The generator adds about 40 more updates, one of each kind. */
const randomUpdates = 12;

describe('readers of /api of random histories', needs(limitsSkipReason), () => {
  let world: LeakWorld;
  const totals: Record<keyof TrialFacts, number> = { requests: 0, rows: 0, words: 0, hidden: 0, refused: 0 };
  const routesWithRows = new Set<string>();
  let readerCount = 0;
  let problemCount = 0;

  beforeAll(async () => {
    world = await LeakWorld.open();
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    process.stdout.write(
      `leaks: ${JSON.stringify({ histories, readers: readerCount, ...totals, problems: problemCount })}\n`,
    );
  });

  it.each(Array.from({ length: histories }, (_, index) => firstSeed + index))(
    'see only what their rights and their role allow: seed %i',
    async (seed) => {
      const random = new Random(seed);
      const history = new PrivateHistory(seed, randomUpdates, true);
      await using served = await world.serve(history, random);
      const trials = served.readers.map((reader) => new ReaderTrial(served, history, reader, new Random(seed)));
      const runs = trials.map((trial) => connected(served.database.url, (client) => trial.run(client)));
      const problems = (await Promise.all(runs)).flat();
      readerCount += trials.length;
      problemCount += problems.length;
      for (const { facts, routesWithRows: names } of trials) {
        for (const name of Object.keys(totals) as (keyof TrialFacts)[]) totals[name] += facts[name];
        for (const name of names) routesWithRows.add(name);
      }
      expect(problems.slice(0, 10)).toEqual([]);
    },
  );

  // One history may have no rows for the random parameters of a route.
  const fewSkipReason = histories < 3 ? 'needs three histories (TEST_RUNS)' : undefined;
  it('have read rows of every route', needs(fewSkipReason), () => {
    const withoutRows = storedRoutes.filter(({ name }) => !routesWithRows.has(name)).map(({ name }) => name);
    expect(withoutRows).toEqual([]);
    expect(totals.hidden).toBeGreaterThan(20 * histories);
  });
});

async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
