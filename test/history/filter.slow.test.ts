/** Another filter than the one in force: never taken silently, and `accept-filter` says what is missing from then on. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { filterDifference } from '../../src/cli/maintain/accept-filter.ts';
import type { WantedFilter } from '../../src/ledger/api/request-format.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { programInProcess } from '../cli/in-process.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
let some: readonly string[];
beforeEach(async () => {
  world = await HistoryWorld.open(150);
  some = world.sandbox.ledger.localParties().slice(-3);
});
afterEach(async () => {
  await world.close();
});

const genesis = { INDEXER_START: 'genesis' };
const parties = (list: readonly string[]): Record<string, string> => ({ ...genesis, LEDGER_PARTIES: list.join(',') });

function ranges(): Promise<readonly Record<string, unknown>[]> {
  return query(
    world.database.url,
    'select from_offset::int, to_offset::int, origin, reason from ledger.coverage order by from_offset, recorded_at',
  );
}

describe('a filter that was changed', () => {
  it('parks the indexer with the command that accepts it, and changes nothing', async () => {
    await world.index('ledger', parties(some));
    const before = await digestOf(world.database.url, 'ledger');
    const park = await world.parks('ledger', genesis);
    expect(park.code).toBe('FILTER_CHANGED');
    expect(park.message).toContain(`parties: ${some.toSorted().join(', ')} -> all`);
    expect(park.remedy).toContain('ledger-indexer accept-filter --yes');
    expect(await digestOf(world.database.url, 'ledger')).toBe(before);
  });

  it('is taken into force by accept-filter from the checkpoint on, and coverage says so', async () => {
    await world.index('ledger', parties(some));
    const checkpoint = await world.checkpoint();
    const said = await world.command('accept-filter', 'ledger', genesis);
    expect(said).toContain('-> all');
    expect(said).toContain('is missing up to the checkpoint');
    expect(said).toContain('nothing was changed');
    expect((await ranges()).length).toBe(1);
    await world.command('accept-filter --yes', 'ledger', genesis);
    world.grow(60);
    await world.index('ledger', genesis);
    expect(await ranges()).toMatchObject([
      { from_offset: 0, to_offset: checkpoint, origin: 'genesis', reason: null },
      { from_offset: checkpoint, to_offset: null, origin: 'filter' },
    ]);
    expect(await world.broken()).toEqual([]);
    const { after } = await world.row(
      `select count(*)::int as after from ledger.updates where "offset" > ${checkpoint}`,
    );
    expect(after).toBe(60);
    expect((await world.parks('ledger', parties(some))).code).toBe('FILTER_CHANGED');
  });

  it('is complete at once, active contracts included, with reseed --keep-history', async () => {
    await world.index('ledger', parties(some));
    const before = (await world.active()).length;
    await world.command('reseed --keep-history --yes', 'ledger', genesis);
    await world.index('ledger', genesis);
    await world.index('fresh');
    expect((await world.active()).length).toBeGreaterThan(before);
    expect(await world.active()).toEqual(await world.active('fresh'));
  });

  it('that narrows says which contracts are followed no longer, and does not take the last update for another history', async () => {
    await world.index('ledger', genesis);
    const narrow = parties(some.slice(0, 1));
    const said = await world.command('accept-filter --yes', 'ledger', narrow);
    expect(said).toContain('is followed no longer');
    expect(await world.broken()).toEqual([]);
    world.grow(30);
    await world.index('ledger', narrow);
    expect(await world.broken()).toEqual([]);
  });

  it('can be taken back before anything was stored, and a reset keeps the ranges in order', async () => {
    await world.index('ledger', genesis);
    const narrow = parties(some);
    await world.command('accept-filter --yes', 'ledger', narrow);
    await world.command('accept-filter --yes', 'ledger', genesis);
    const checkpoint = await world.checkpoint();
    world.grow(30);
    await world.index('ledger', genesis);
    await world.command(`reset --to ${checkpoint - 5} --yes`, 'ledger', genesis);
    const open = (await ranges()).filter(({ to_offset }) => to_offset === null);
    expect(open).toMatchObject([{ from_offset: 0, origin: 'genesis' }]);
    await world.index('ledger', genesis);
  });

  it('stays in force after going back to before it was, and coverage says so', async () => {
    await world.index('ledger', parties(some));
    const checkpoint = await world.checkpoint();
    await world.command('accept-filter --yes', 'ledger', genesis);
    await world.command(`reset --to ${checkpoint - 5} --yes`, 'ledger', genesis);
    expect(await ranges()).toMatchObject([
      { from_offset: 0, to_offset: checkpoint - 5, origin: 'genesis' },
      { from_offset: checkpoint - 5, to_offset: null, origin: 'reset' },
    ]);
    expect(await world.broken()).toEqual([]);
    await world.index('ledger', genesis);
    expect(await world.broken()).toEqual([]);
  });
});

describe('a mistake in the filter of the first start', () => {
  const typo = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulett' };

  it('parks, and once corrected is replaced: nothing was stored under it', async () => {
    expect((await world.parks('ledger', typo)).code).toBe('LEDGER_FILTER_UNKNOWN');
    expect(await world.command('accept-filter')).toContain('start the indexer, it takes the configured one');
    const said = await world
      .command('accept-filter --yes')
      .catch((thrown: unknown) => thrown as { readonly remedy: string });
    expect(said).toMatchObject({
      code: 'ACCEPT_FILTER_REFUSED',
      remedy: expect.stringContaining('start the indexer') as string,
    });
    const { stdout } = await programInProcess(['check', '--json'], world.env());
    expect(stdout).toMatch(/"name":"stored stream","state":"pass","found":"nothing is stored .*Amulett -> all/);
    await using indexer = await world.run();
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const line = indexer.log.find((text) => text.includes('the configured one takes its place'));
    expect(line).toContain('"difference":"templates: #splice-amulet:Splice.Amulet:Amulett -> all"');
    await indexer[Symbol.asyncDispose]();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.broken()).toEqual([]);
  });

  it('is not replaced while a seed under it has stored something', async () => {
    await world.index('ledger', parties(some));
    await query(world.database.url, 'update ledger.stream set seeded_at = null, checkpoint = null, seed_contracts = 1');
    const park = await world.parks();
    expect(park).toMatchObject({
      code: 'FILTER_CHANGED',
      remedy: expect.stringContaining('reset --all --yes') as string,
    });
    expect(park.remedy).not.toContain('accept-filter');
  });

  it('that nothing matches parks with what differs and reseed first, which brings what is active', async () => {
    const nobody = { LEDGER_PARTIES: 'nobody::1220' };
    await world.index('ledger', nobody);
    const park = await world.parks('ledger', {});
    expect(park.code).toBe('FILTER_CHANGED');
    expect(park.message).toContain('under which nothing is stored: parties: nobody::1220 -> all');
    expect(park.remedy).toMatch(/^begin again .*: ledger-indexer reseed --yes;/);
    const { stdout } = await programInProcess(['check', '--json'], world.env());
    expect(stdout).toContain('"name":"stored stream","state":"fail"');
    expect(stdout).toContain('nobody::1220 -> all');
    await world.command('reseed --yes');
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
  });
});

describe('the difference of two filters', () => {
  const filter: WantedFilter = {
    parties: ['a', 'b'],
    templates: [],
    wantedInterfaces: [],
    createdEventBlobs: false,
    shape: 'LEDGER_EFFECTS',
    topology: true,
  };
  const changed = (change: Partial<WantedFilter>): unknown => {
    const { widens, narrows } = filterDifference(JSON.stringify({ ...filter, interfaces: [] }), {
      ...filter,
      ...change,
    });
    return [widens, narrows];
  };

  it('is wider, narrower or both', () => {
    expect(changed({})).toEqual([false, false]);
    expect(changed({ parties: [] })).toEqual([true, false]);
    expect(changed({ parties: ['a', 'b', 'c'] })).toEqual([true, false]);
    expect(changed({ parties: ['a'] })).toEqual([false, true]);
    expect(changed({ parties: ['a', 'c'] })).toEqual([true, true]);
    expect(changed({ templates: ['#x:M:T'] })).toEqual([false, true]);
    expect(changed({ wantedInterfaces: ['#x:M:I'] })).toEqual([true, false]);
    expect(changed({ createdEventBlobs: true })).toEqual([true, false]);
    expect(changed({ topology: false })).toEqual([false, true]);
    expect(changed({ shape: 'ACS_DELTA' })).toEqual([false, true]);
  });
});
