/**
 * Tests reassignments that are in flight while a seed, a reseed, a filter extension or a rebuild reads the active
 * contracts. Some participants always list them, others only on request. No contract is lost, and `verify` finds no
 * difference.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { assign, assignAhead, unassign } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import type { SandboxOptions } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import type { Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { rebuild } from '../rebuild/world.ts';
import { query } from '../support/database.ts';
import { runVerify } from '../verify/verify-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { extendFilter } from '../history/extend-filter-world.ts';

let world: HistoryWorld;
afterEach(() => world.close());

async function open(release: Release, options: SandboxOptions = {}): Promise<void> {
  world = await HistoryWorld.open(80, { release, ...options });
}

interface Travels {
  /** Contracts that were unassigned and are not assigned yet. */
  readonly left: readonly string[];
  arrive(): void;
}

const iou = '#model-tests:Iou:Iou';

/** Reassigns new contracts: some are unassigned, and one is assigned before it is unassigned. */
function depart(): Travels {
  const { ledger } = world.sandbox;
  const make = (amount: string): string => {
    const argument = { issuer: 'Bank::1220', owner: 'Owner::1220', currency: 'USD', amount, observers: [] };
    return ledger.create(iou, argument, ['Bank::1220', 'Owner::1220']).contractId;
  };
  const left = ['1', '2', '3'].map(make);
  const ids = left.map((contractId) => unassign(ledger, contractId));
  const leave = assignAhead(ledger, make('4'));
  const arrive = (): void => {
    for (const id of ids) assign(ledger, id);
    leave();
  };
  return { left, arrive };
}

/** Number of these contracts that are stored, active or not. */
async function known(contracts: readonly string[], schema = 'ledger'): Promise<number> {
  const list = contracts.map((contractId) => `'${contractId}'`).join();
  const text = `select count(distinct contract_id)::int as n from ${schema}.decoded_contracts where contract_id in (${list})`;
  return Number((await query(world.database.url, text))[0]?.['n']);
}

async function equal(more: Readonly<Record<string, string>> = {}): Promise<void> {
  const run = await runVerify(['--invariants', '--acs'], world.env('ledger', more));
  expect(run.results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(run).toMatchObject({ code: 0, outcome: 'equal' });
}

/** Assigns all these contracts. The active contracts must then equal those of an indexer that started at genesis. */
async function settle(travels: Travels, more: Readonly<Record<string, string>> = {}): Promise<void> {
  travels.arrive();
  await world.index('ledger', more);
  await equal(more);
  await world.index('whole', { ...more, INDEXER_START: 'genesis' });
  expect(await world.active()).toEqual(await world.active('whole'));
  expect(await world.broken()).toEqual([]);
}

const lacking = 'contracts in reassignment during the seed may be missing';

function lines(indexer: IndexerRun, words: string): readonly string[] {
  return indexer.log.filter((line) => line.includes(words));
}

const releases: readonly Release[] = ['3.5', '3.6', '3.7'];
const versions = { '3.4': '3.4.12', '3.5': '3.5.10', '3.6': '3.6.2', '3.7': '3.7.4' };

describe.each(releases)('in-flight reassignments of participant %s', (release) => {
  it('are stored by a seed, with the release of the participant', async () => {
    await open(release);
    const travels = depart();
    await world.index();
    expect(await known(travels.left)).toBe(3);
    expect(await world.row('select seed_release, seed_has_in_flight from ledger.stream')).toEqual({
      seed_release: versions[release],
      seed_has_in_flight: true,
    });
    await equal();
    await settle(travels);
  });

  it('are stored by a reseed', async () => {
    await open(release);
    await world.index();
    await query(world.database.url, 'update ledger.stream set seed_release = null, seed_has_in_flight = false');
    world.grow(20);
    const travels = depart();
    world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd());
    await world.command('reseed --yes');
    expect(await known(travels.left)).toBe(3);
    expect(await world.row('select seed_release, seed_has_in_flight from ledger.stream')).toEqual({
      seed_release: versions[release],
      seed_has_in_flight: true,
    });
    await equal();
    travels.arrive();
    await world.index();
    await equal();
  });

  it('are stored by filter extend', async () => {
    await open(release);
    const travels = depart();
    const narrow = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet' };
    const wide = { LEDGER_TEMPLATES: `${narrow.LEDGER_TEMPLATES},${iou}` };
    await world.index('ledger', narrow);
    expect(await known(travels.left)).toBe(0);
    {
      await using indexer = await world.run('ledger', narrow);
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      await extendFilter(world, wide);
    }
    expect(await known(travels.left)).toBe(3);
    await equal(wide);
    travels.arrive();
    await world.index('ledger', wide);
    await equal(wide);
  });

  it('are stored by a rebuild', async () => {
    await open(release);
    const travels = depart();
    {
      await using indexer = await world.run();
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      // From now on, only the list of active contracts contains them.
      world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd());
      await rebuild(world, '--yes');
    }
    expect(await known(travels.left)).toBe(3);
    await equal();
    travels.arrive();
    await world.index();
    await equal();
  });
});

describe('an offset rejected because of in-flight reassignments', () => {
  it('is not reported as pruned by verify --acs, reseed or filter extend', async () => {
    await open('3.7');
    const narrow = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet' };
    const wide = { LEDGER_TEMPLATES: `${narrow.LEDGER_TEMPLATES},${iou}` };
    const travels = depart();
    await world.index('ledger', narrow);
    const at = world.sandbox.ledger.ledgerEnd();
    world.grow(10);
    world.sandbox.faults.refuseInFlight = {};
    await world.index('ledger', narrow);
    const run = await runVerify(['--acs', '--at', String(at)], world.env('ledger', narrow));
    expect(run).toMatchObject({ code: 2, outcome: 'undecided' });
    expect(JSON.stringify(run.results)).toContain('is pruned up to 0 only: reassignments were in flight there');
    await world.command('reseed --yes', 'ledger', narrow);
    world.grow(10);
    {
      await using indexer = await world.run('ledger', narrow);
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      // When the list is read, the offset at which the filter takes effect is no longer the ledger end.
      world.sandbox.ledger.skipOffsets(1);
      await extendFilter(world, wide);
    }
    expect(await known(travels.left)).toBe(3);
    await world.index('ledger', wide);
    await equal(wide);
  });
});

describe('a participant with an unreadable version', () => {
  const unread = { path: '/v2/version', as: { status: 404, type: 'text/html', content: '<html>' } } as const;

  it('causes a warning, and a later reseed adds the missing in-flight contracts', async () => {
    await open('3.7', { faults: { answer: unread } });
    const travels = depart();
    {
      await using indexer = await world.run();
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      expect(lines(indexer, 'the participant release cannot be read')).toHaveLength(1);
      expect(lines(indexer, lacking)).toEqual([]);
    }
    expect(await known(travels.left)).toBe(0);
    world.sandbox.faults.answer = undefined;
    {
      await using indexer = await world.run();
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      const [line] = lines(indexer, lacking);
      expect(line).toContain('ledger-indexer verify --acs');
      expect(line).toContain('ledger-indexer reseed --yes');
    }
    expect(await runVerify(['--acs'], world.env())).toMatchObject({ outcome: 'different' });
    world.grow(5);
    await world.command('reseed --yes');
    expect(await known(travels.left)).toBe(3);
    await equal();
    await using indexer = await world.run();
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    expect(lines(indexer, lacking)).toEqual([]);
  });
});
