/** A filter that is widened with its history: whatever an indexer has that began with the wider filter, rows of before included. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld } from './history-run.ts';
import { differingRows } from './interface-world.ts';
import type { Filter } from './widen-world.ts';

let world: HistoryWorld;
let some: readonly string[];
beforeEach(async () => {
  world = await HistoryWorld.open(300);
  some = world.sandbox.ledger.localParties().slice(-3);
});
afterEach(() => world.close());

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();
const genesis = { INDEXER_START: 'genesis', INDEXER_RETRY_MAX: '300ms' };

async function untilHistory(limitMs = 60_000): Promise<void> {
  await waitFor(
    'the history is there',
    async () => {
      const works = await query(url(), `select name, state, problem from ledger.works`);
      const failed = works.find(({ state }) => state === 'failed');
      if (failed !== undefined) throw new Error(`failed: ${String(failed['name'])} ${String(failed['problem'])}`);
      return works.some(({ name, state }) => name === 'history' && state === 'done') ? true : undefined;
    },
    limitMs,
  );
}

async function wholeWith(from: Filter, to: Filter): Promise<void> {
  await using indexer = await world.run('ledger', { ...genesis, ...from });
  await indexer.reaches(end());
  world.grow(20);
  await indexer.reaches(end());
  await world.command('widen --yes --with-history --rate 2000', 'ledger', { ...genesis, ...to });
  world.grow(60);
  await untilHistory();
  world.grow(20);
  await indexer.reaches(end());
  await world.index('fresh', { ...genesis, ...to });
  expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  expect(await world.broken()).toEqual([]);
}

describe('widening with history', () => {
  it('adds parties', async () => {
    const [first = '', ...others] = some;
    await wholeWith({ LEDGER_PARTIES: first }, { LEDGER_PARTIES: [first, ...others].join() });
  });
  it('goes from some parties to all', async () => {
    await wholeWith({ LEDGER_PARTIES: some.join() }, {});
  });
});
