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

async function openWorld(release: Release, options: SandboxOptions = {}): Promise<void> {
  world = await HistoryWorld.open(80, { release, ...options });
}

interface ReassignmentState {
  /** Contracts that were unassigned and are not assigned yet. */
  readonly left: readonly string[];
  arrive(): void;
}

const iou = '#model-tests:Iou:Iou';

/** Reassigns new contracts: some are unassigned, and one is assigned before it is unassigned. */
function unassignSome(): ReassignmentState {
  const { ledger } = world.sandbox;
  const make = (amount: string): string => {
    const argument = { issuer: 'Bank::1220', owner: 'Owner::1220', currency: 'USD', amount, observers: [] };
    return ledger.create(iou, argument, ['Bank::1220', 'Owner::1220']).contractId;
  };
  const inFlightContracts = ['1', '2', '3'].map(make);
  const ids = inFlightContracts.map((contractId) => unassign(ledger, contractId));
  const assignNext = assignAhead(ledger, make('4'));
  const arrive = (): void => {
    for (const id of ids) assign(ledger, id);
    assignNext();
  };
  return { left: inFlightContracts, arrive };
}

/** Number of these contracts that are stored, active or not. */
async function countKnown(contracts: readonly string[], schema = 'ledger'): Promise<number> {
  const list = contracts.map((contractId) => `'${contractId}'`).join();
  const text = `select count(distinct contract_id)::int as n from ${schema}.decoded_contracts where contract_id in (${list})`;
  return Number((await query(world.database.url, text))[0]?.['n']);
}

async function expectEqual(extraEnv: Readonly<Record<string, string>> = {}): Promise<void> {
  const run = await runVerify(['--invariants', '--acs'], world.env('ledger', extraEnv));
  expect(run.results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(run).toMatchObject({ code: 0, outcome: 'equal' });
}

/** Assigns all these contracts. The active contracts must then equal those of an indexer that started at genesis. */
async function settle(
  reassignments: ReassignmentState,
  extraEnv: Readonly<Record<string, string>> = {},
): Promise<void> {
  reassignments.arrive();
  await world.index('ledger', extraEnv);
  await expectEqual(extraEnv);
  await world.index('whole', { ...extraEnv, INDEXER_START: 'genesis' });
  expect(await world.active()).toEqual(await world.active('whole'));
  expect(await world.broken()).toEqual([]);
}

const inFlightWarning = 'contracts in reassignment during the seed may be missing';

function lines(indexer: IndexerRun, messageText: string): readonly string[] {
  return indexer.log.filter((line) => line.includes(messageText));
}

const releases: readonly Release[] = ['3.5', '3.6', '3.7'];
const versions = { '3.4': '3.4.12', '3.5': '3.5.10', '3.6': '3.6.2', '3.7': '3.7.4' };

describe.each(releases)('in-flight reassignments of participant %s', (release) => {
  it('are stored by a seed, with the release of the participant', async () => {
    await openWorld(release);
    const reassignments = unassignSome();
    await world.index();
    expect(await countKnown(reassignments.left)).toBe(3);
    expect(await world.row('select seed_release, seed_has_in_flight from ledger.stream')).toEqual({
      seed_release: versions[release],
      seed_has_in_flight: true,
    });
    await expectEqual();
    await settle(reassignments);
  });

  it('are stored by a reseed', async () => {
    await openWorld(release);
    await world.index();
    await query(world.database.url, 'update ledger.stream set seed_release = null, seed_has_in_flight = false');
    world.grow(20);
    const reassignments = unassignSome();
    world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd());
    await world.command('reseed --yes');
    expect(await countKnown(reassignments.left)).toBe(3);
    expect(await world.row('select seed_release, seed_has_in_flight from ledger.stream')).toEqual({
      seed_release: versions[release],
      seed_has_in_flight: true,
    });
    await expectEqual();
    reassignments.arrive();
    await world.index();
    await expectEqual();
  });

  it('are stored by filter extend', async () => {
    await openWorld(release);
    const reassignments = unassignSome();
    const narrowFilter = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet' };
    const wideFilter = { LEDGER_TEMPLATES: `${narrowFilter.LEDGER_TEMPLATES},${iou}` };
    await world.index('ledger', narrowFilter);
    expect(await countKnown(reassignments.left)).toBe(0);
    {
      await using indexer = await world.run('ledger', narrowFilter);
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      await extendFilter(world, wideFilter);
    }
    expect(await countKnown(reassignments.left)).toBe(3);
    await expectEqual(wideFilter);
    reassignments.arrive();
    await world.index('ledger', wideFilter);
    await expectEqual(wideFilter);
  });

  it('are stored by a rebuild', async () => {
    await openWorld(release);
    const reassignments = unassignSome();
    {
      await using indexer = await world.run();
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      // From now on, only the list of active contracts contains them.
      world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd());
      await rebuild(world, '--yes');
    }
    expect(await countKnown(reassignments.left)).toBe(3);
    await expectEqual();
    reassignments.arrive();
    await world.index();
    await expectEqual();
  });
});

describe('an offset rejected because of in-flight reassignments', () => {
  it('is not reported as pruned by verify --acs, reseed or filter extend', async () => {
    await openWorld('3.7');
    const narrowFilter = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet' };
    const wideFilter = { LEDGER_TEMPLATES: `${narrowFilter.LEDGER_TEMPLATES},${iou}` };
    const reassignments = unassignSome();
    await world.index('ledger', narrowFilter);
    const at = world.sandbox.ledger.ledgerEnd();
    world.grow(10);
    world.sandbox.faults.refuseInFlight = {};
    await world.index('ledger', narrowFilter);
    const run = await runVerify(['--acs', '--at', String(at)], world.env('ledger', narrowFilter));
    expect(run).toMatchObject({ code: 2, outcome: 'undecided' });
    expect(JSON.stringify(run.results)).toContain('it is pruned only up to 0: reassignments were in flight there');
    await world.command('reseed --yes', 'ledger', narrowFilter);
    world.grow(10);
    {
      await using indexer = await world.run('ledger', narrowFilter);
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      // When the list is read, the offset at which the filter takes effect is no longer the ledger end.
      world.sandbox.ledger.skipOffsets(1);
      await extendFilter(world, wideFilter);
    }
    expect(await countKnown(reassignments.left)).toBe(3);
    await world.index('ledger', wideFilter);
    await expectEqual(wideFilter);
  });
});

describe('a participant with an unreadable version', () => {
  const missingVersionFault = {
    path: '/v2/version',
    as: { status: 404, type: 'text/html', content: '<html>' },
  } as const;

  it('causes a warning, and a later reseed adds the missing in-flight contracts', async () => {
    await openWorld('3.7', { faults: { answer: missingVersionFault } });
    const reassignments = unassignSome();
    {
      await using indexer = await world.run();
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      expect(lines(indexer, 'the participant release cannot be read')).toHaveLength(1);
      expect(lines(indexer, inFlightWarning)).toEqual([]);
    }
    expect(await countKnown(reassignments.left)).toBe(0);
    world.sandbox.faults.answer = undefined;
    {
      await using indexer = await world.run();
      await indexer.reaches(world.sandbox.ledger.ledgerEnd());
      const [line] = lines(indexer, inFlightWarning);
      expect(line).toContain('ledger-indexer verify --acs');
      expect(line).toContain('ledger-indexer reseed --yes');
    }
    expect(await runVerify(['--acs'], world.env())).toMatchObject({ outcome: 'different' });
    world.grow(5);
    await world.command('reseed --yes');
    expect(await countKnown(reassignments.left)).toBe(3);
    await expectEqual();
    await using indexer = await world.run();
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    expect(lines(indexer, inFlightWarning)).toEqual([]);
  });
});
