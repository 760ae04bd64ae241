/**
 * Tests faults of the stream of active contracts. A seed is either published completely at one offset or not published.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/ledger-sandbox/src/wire/json.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { fixture } from '../support/wire/fixtures.ts';
import { FaultWorld, waitUntilParked } from './fault-world.ts';

const path = '/v2/state/active-contracts';
const seeding = { INDEXER_START: 'seed' };

let world: FaultWorld;
beforeEach(async () => {
  world = await FaultWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('a seed', () => {
  it.each([
    ['disconnected', { cut: { path, afterFrames: 6, times: 4 } }],
    ['reset in the middle of a frame', { reset: { path, afterFrames: 9, times: 4 } }],
    ['closed with 1001', { close: { path, afterFrames: 6, code: 1001, times: 4 } }],
  ] as const)('stores the same rows if its stream is repeatedly %s', async (_caseName, faults) => {
    Object.assign(world.sandbox.faults, faults);
    await using indexer = await world.run('ledger', seeding);
    await waitFor('the seed', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    expect(indexer.logged('backing off')).toBeGreaterThanOrEqual(4);
    await using reference = await world.run('fresh', seeding);
    await waitFor('the other seed', async () => ((await reference.status()).state === 'live' ? true : undefined));
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });

  it('parks the indexer with a remedy if its request format is disabled', async () => {
    const body = JSON.parse(fixture('samples/refusals/deprecated-api-disabled.json')) as JsonObject;
    world.sandbox.faults.errorFrameOnce = { body };
    await using indexer = await world.run('ledger', seeding);
    const error = await waitUntilParked(indexer);
    expect(error).toMatchObject({ code: 'LEDGER_API_DISABLED' });
    expect(error.remedy).toContain('enable-deprecated-endpoints-34');
    expect(await query(world.database.url, 'select seeded_at from ledger.stream')).toEqual([{ seeded_at: null }]);
  });

  it('ends at the start offset of the stream while the ledger adds updates', async () => {
    const at = world.sandbox.ledger.ledgerEnd();
    world.sandbox.faults.slowFrames = { path, delayMs: 20 };
    await using indexer = await world.run('ledger', seeding);
    await waitFor('it seeds', async () => ((await indexer.status()).state === 'seeding' ? true : undefined));
    world.grow(50);
    world.sandbox.faults.slowFrames = undefined;
    await world.reachesEnd(indexer);
    const [row] = await query(
      world.database.url,
      `select seed_offset::int as seed, (select min("offset")::int from ledger.updates) as first from ledger.stream`,
    );
    expect(row?.['seed']).toBe(at);
    const next = world.sandbox.ledger.range(at, world.sandbox.ledger.ledgerEnd(), 1)[0]?.offset;
    expect(row?.['first']).toBe(next);
    const activeCountSql = `select count(*)::int as n from ledger.lifetimes where deactivated_offset is null`;
    // Contracts in flight are in the list, although they are not active on any synchronizer.
    const activeEntries = [...world.sandbox.ledger.activeAt(world.sandbox.ledger.ledgerEnd())];
    const expected = activeEntries.filter(({ as: entryKind }) => entryKind === 'JsActiveContract').length;
    expect((await query(world.database.url, activeCountSql))[0]?.['n']).toBe(expected);
  });
});
