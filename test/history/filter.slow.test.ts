/**
 * The indexer never silently accepts a configured filter that differs from the filter in force. `filter accept` reports
 * which data will be missing.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { filterDifference } from '../../src/cli/maintain/accept-filter.ts';
import type { RequestedFilter } from '../../src/ledger/api/request-format.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { programInProcess } from '../cli/in-process.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
let someParties: readonly string[];
beforeEach(async () => {
  world = await HistoryWorld.open(150);
  someParties = world.sandbox.ledger.localParties().slice(-3);
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

describe('a changed filter', () => {
  it('parks the indexer without changes, and the error names filter accept', async () => {
    await world.index('ledger', parties(someParties));
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const parkedState = await world.parks('ledger', genesis);
    expect(parkedState.code).toBe('FILTER_CHANGED');
    expect(parkedState.message).toContain(`parties: ${someParties.toSorted().join(', ')} -> all`);
    expect(parkedState.remedy).toContain('ledger-indexer filter accept --yes');
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('starts a coverage range at the checkpoint after filter accept --yes', async () => {
    await world.index('ledger', parties(someParties));
    const checkpoint = await world.checkpoint();
    const output = await world.command('filter accept', 'ledger', genesis);
    expect(output).toContain('-> all');
    expect(output).toContain('is missing up to the checkpoint');
    expect(output).toContain('nothing was changed');
    expect((await ranges()).length).toBe(1);
    await world.command('filter accept --yes', 'ledger', genesis);
    world.grow(60);
    await world.index('ledger', genesis);
    expect(await ranges()).toMatchObject([
      { from_offset: 0, to_offset: checkpoint, origin: 'genesis', reason: null },
      { from_offset: checkpoint, to_offset: null, origin: 'filter' },
    ]);
    expect(await world.broken()).toEqual([]);
    const { after: countAfter } = await world.row(
      `select count(*)::int as after from ledger.updates where "offset" > ${checkpoint}`,
    );
    expect(countAfter).toBe(60);
    expect((await world.parks('ledger', parties(someParties))).code).toBe('FILTER_CHANGED');
  });

  it('has the same active contracts as a fresh index after reseed', async () => {
    await world.index('ledger', parties(someParties));
    const activeBefore = (await world.active()).length;
    await world.command('reseed --yes', 'ledger', genesis);
    await world.index('ledger', genesis);
    await world.index('fresh');
    expect((await world.active()).length).toBeGreaterThan(activeBefore);
    expect(await world.active()).toEqual(await world.active('fresh'));
  });

  it('can be narrower, and filter accept reports data that is no longer followed', async () => {
    await world.index('ledger', genesis);
    const narrowParties = parties(someParties.slice(0, 1));
    const output = await world.command('filter accept --yes', 'ledger', narrowParties);
    expect(output).toContain('is no longer followed');
    expect(await world.broken()).toEqual([]);
    world.grow(30);
    await world.index('ledger', narrowParties);
    expect(await world.broken()).toEqual([]);
  });

  it('can be reverted before an update is stored, without a new coverage range', async () => {
    await world.index('ledger', genesis);
    const narrowParties = parties(someParties);
    await world.command('filter accept --yes', 'ledger', narrowParties);
    await world.command('filter accept --yes', 'ledger', genesis);
    const checkpoint = await world.checkpoint();
    world.grow(30);
    await world.index('ledger', genesis);
    await world.command(`reset --to ${checkpoint - 5} --yes`, 'ledger', genesis);
    const openRanges = (await ranges()).filter(({ to_offset }) => to_offset === null);
    expect(openRanges).toMatchObject([{ from_offset: 0, origin: 'genesis' }]);
    await world.index('ledger', genesis);
  });

  it('stays in force after a reset to an offset before filter accept', async () => {
    await world.index('ledger', parties(someParties));
    const checkpoint = await world.checkpoint();
    await world.command('filter accept --yes', 'ledger', genesis);
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

describe('a wrong filter at the first start', () => {
  const typo = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulett' };

  it('is replaced by the corrected filter if nothing was stored', async () => {
    expect((await world.parks('ledger', typo)).code).toBe('LEDGER_FILTER_UNKNOWN');
    expect(await world.command('filter accept')).toContain('start the indexer, it uses the configured one');
    const refusal = await world
      .command('filter accept --yes')
      .catch((error: unknown) => error as { readonly remedy: string });
    expect(refusal).toMatchObject({
      code: 'FILTER_ACCEPT_REFUSED',
      remedy: expect.stringContaining('start the indexer') as string,
    });
    const { stdout } = await programInProcess(['check', '--json'], world.env());
    expect(stdout).toMatch(/"name":"stored stream","state":"pass","found":"nothing is stored .*Amulett -> all/);
    await using indexer = await world.run();
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const line = indexer.log.find((text) => text.includes('replaced by the configured one'));
    expect(line).toContain('"difference":"templates: #splice-amulet:Splice.Amulet:Amulett -> all"');
    await indexer[Symbol.asyncDispose]();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.broken()).toEqual([]);
  });

  it('is not replaced if its seed has stored contracts', async () => {
    await world.index('ledger', parties(someParties));
    await query(world.database.url, 'update ledger.stream set seeded_at = null, checkpoint = null, seed_contracts = 1');
    const parkedState = await world.parks();
    expect(parkedState).toMatchObject({
      code: 'FILTER_CHANGED',
      remedy: expect.stringContaining('reset --all --yes') as string,
    });
    expect(parkedState.remedy).not.toContain('filter accept');
  });

  it('is replaced after reset --all if it matched nothing', async () => {
    const unknownPartyEnv = { LEDGER_PARTIES: 'nobody::1220' };
    await world.index('ledger', unknownPartyEnv);
    const parkedState = await world.parks('ledger', {});
    expect(parkedState.code).toBe('FILTER_CHANGED');
    expect(parkedState.message).toContain('under which nothing is stored: parties: nobody::1220 -> all');
    expect(parkedState.remedy).toMatch(/^begin again .*: ledger-indexer reset --all --yes;/);
    const { stdout } = await programInProcess(['check', '--json'], world.env());
    expect(stdout).toContain('"name":"stored stream","state":"fail"');
    expect(stdout).toContain('nobody::1220 -> all');
    await world.command('reset --all --yes');
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
  });
});

describe('the command filter', () => {
  it('prints the stored filter and its difference to the configured filter, without changes', async () => {
    await world.index('ledger', parties(someParties.slice(0, 2)));
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const [first = '', second = '', third = ''] = someParties;
    expect(await world.command('filter', 'ledger', parties([first, second]))).toContain(
      'the configured filter is the one in force',
    );
    const output = await world.command('filter', 'ledger', { ...parties([first, third]), LEDGER_TOPOLOGY: 'false' });
    expect(output).toContain(`  parties              ${[first, second].toSorted().join(', ')}\n`);
    expect(output).toContain(`the configured filter adds:\n  party ${third}\n`);
    expect(output).toContain(
      `the configured filter leaves out:\n  party ${second}\n  changes of party hosting\nto replace the filter`,
    );
    expect(output).not.toContain('filter extend');
    const widerOutput = await world.command('filter', 'ledger', genesis);
    expect(widerOutput).toContain(
      'adds:\n  every party\nto add it while the indexer runs: ledger-indexer filter extend\n',
    );
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('prints one JSON object with --json, also for a schema without a stream', async () => {
    const json = async (extraEnv: Record<string, string>): Promise<unknown> =>
      JSON.parse(await world.command('filter --json', 'ledger', extraEnv)) as unknown;
    await world.index('ledger', genesis);
    const emptyFilter = { parties: [], templates: [], interfaces: [], createdEventBlobs: false, topology: true };
    expect(await json({ ...parties(someParties.slice(0, 1)), LEDGER_SHAPE: 'ACS_DELTA' })).toEqual({
      schema: 'ledger',
      inForce: { ...emptyFilter, shape: 'LEDGER_EFFECTS' },
      configured: { ...emptyFilter, parties: someParties.slice(0, 1), shape: 'ACS_DELTA' },
      adds: [],
      leavesOut: [{ kind: 'party', name: '*' }],
    });
    await query(world.database.url, 'delete from ledger.stream');
    expect(await json(genesis)).toMatchObject({ inForce: null, adds: [], leavesOut: [] });
    expect(await world.command('filter', 'ledger', genesis)).toContain('nothing is indexed in schema "ledger" yet');
  });

  it.each(['filter --yes', 'filter accept --wait', 'filter extend --json', 'filter extend --rate 5', 'filter widen'])(
    'rejects `%s`',
    async (line) => {
      await expect(world.command(line)).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
    },
  );
});

describe('filterDifference()', () => {
  const filter: RequestedFilter = {
    parties: ['a', 'b'],
    templates: [],
    wantedInterfaces: [],
    createdEventBlobs: false,
    shape: 'LEDGER_EFFECTS',
    topology: true,
  };
  const filterDifferences = (change: Partial<RequestedFilter>): unknown => {
    const { adds: addedFilter, removes } = filterDifference(JSON.stringify({ ...filter, interfaces: [] }), {
      ...filter,
      ...change,
    });
    return [addedFilter, removes];
  };

  it('returns whether the new filter adds or removes anything', () => {
    expect(filterDifferences({})).toEqual([false, false]);
    expect(filterDifferences({ parties: [] })).toEqual([true, false]);
    expect(filterDifferences({ parties: ['a', 'b', 'c'] })).toEqual([true, false]);
    expect(filterDifferences({ parties: ['a'] })).toEqual([false, true]);
    expect(filterDifferences({ parties: ['a', 'c'] })).toEqual([true, true]);
    expect(filterDifferences({ templates: ['#x:M:T'] })).toEqual([false, true]);
    expect(filterDifferences({ wantedInterfaces: ['#x:M:I'] })).toEqual([true, false]);
    expect(filterDifferences({ createdEventBlobs: true })).toEqual([true, false]);
    expect(filterDifferences({ topology: false })).toEqual([false, true]);
    expect(filterDifferences({ shape: 'ACS_DELTA' })).toEqual([false, true]);
  });
});
