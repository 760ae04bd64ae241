/** A projection whose SELECT fails is parked alone, is reported with its error, and its view stays complete. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { compare, turnJitOff } from './projected.ts';

let world: HistoryWorld;
beforeAll(async () => {
  world = await HistoryWorld.open(100);
  await turnJitOff(world.database.url);
});
afterAll(() => world.close());

const rename = (from: string, to: string) =>
  query(world.database.url, `alter function explore.${from}(bigint, bigint) rename to ${to}`);
const equal = { token_changes: { extra: 0, missing: 0 }, token_transfers: { extra: 0, missing: 0 } };

it('reports a parked projection, stores the others, and continues after a restart', async () => {
  const env = { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis', INDEXER_PROJECTIONS: 'built-in' };
  await world.index('ledger', env);
  await rename('token_transfers_between', 'hidden');
  {
    await using indexer = await world.run('ledger', env);
    world.grow(50);
    await waitFor('only token_transfers is parked', async () => {
      const { projections } = await indexer.status();
      const stored = projections.find(({ name }) => name === 'token_changes');
      const parked = projections.find(({ name }) => name === 'token_transfers');
      return stored?.offsetsBehind === 0 &&
        stored.problem === null &&
        parked?.problem?.code.startsWith('STORE_') === true
        ? true
        : undefined;
    });
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    expect(await indexer.metric('indexer_projection_parked{name="token_transfers"}')).toBe(1);
    expect(await indexer.metric('indexer_projection_parked{name="token_changes"}')).toBe(0);
  }
  await rename('hidden', 'token_transfers_between');
  await using indexer = await world.run('ledger', env);
  await waitFor('token_transfers is stored', async () => {
    const { projections } = await indexer.status();
    const stored = projections.find(({ name }) => name === 'token_transfers');
    return stored?.offsetsBehind === 0 && stored.problem === null ? true : undefined;
  });
  expect(await compare(world.database.url)).toMatchObject(equal);
});
