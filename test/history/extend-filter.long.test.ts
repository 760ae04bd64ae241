/**
 * Extends the filter while the indexer runs. Active contracts and all later updates must equal those of an indexer that
 * began with the wider filter.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';
import { HistoryWorld } from './history-run.ts';
import { differingRows, waitUntilFollowed } from './interface-world.ts';
import { differences } from '../support/extended-filter.ts';
import { waitUntilExtended, extendFilter, type Filter } from './extend-filter-world.ts';

let world: HistoryWorld;
let someParties: readonly string[];
beforeEach(async () => {
  world = await HistoryWorld.open(120);
  // Chooses the parties with most contracts, so that the previous filter includes many contracts.
  someParties = world.sandbox.ledger.localParties().slice(0, 3);
});
afterEach(() => world.close());

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();
const genesis = { INDEXER_START: 'genesis', INDEXER_RETRY_MAX_DELAY: '300ms' };
const list = '/v2/state/active-contracts';

/**
 * Extends the filter of a running indexer, and adds updates before and after the list of active contracts arrives. Then
 * compares the rows with an indexer that had the filter from the beginning.
 */
async function extendFilterTo(from: Filter, to: Filter): Promise<number> {
  await using indexer = await world.run('ledger', { ...genesis, ...from });
  await indexer.reaches(end());
  world.grow(40);
  await indexer.reaches(end());
  await addWitness();
  const old = await storedContracts(end());
  // The list arrives late, so that many of its contracts have already ended.
  world.sandbox.faults.streamFailure = { path: list, failure: 'PARTICIPANT_BACKPRESSURE', afterFrames: 5 };
  await world.command('filter extend --yes', 'ledger', { ...genesis, ...to });
  await waitFor('the filter is in force', async () => ((await range()) === undefined ? undefined : true));
  world.grow(60);
  await indexer.reaches(end());
  world.sandbox.faults.streamFailure = undefined;
  const fromOffset = await waitUntilExtended(world);
  const { done: doneCount, total } = await world.row(
    `select done, total from ledger.jobs where name = 'filter-extend'`,
  );
  // Topology needs no list of contracts.
  expect(doneCount).toBe(total ?? '0');
  world.grow(40);
  await indexer.reaches(end());
  await world.index('fresh', { ...genesis, ...to });
  expect(await differences(url(), 'ledger', 'fresh', fromOffset)).toEqual([]);
  const audit = await runVerify(['--acs', '--json'], world.env('ledger', { ...genesis, ...to }));
  const { rows } = await world.row(`select count(*)::int as rows from explore.active_contracts`);
  expect(audit).toMatchObject({ outcome: 'equal', results: [{ compared: rows }] });
  expect(await world.broken()).toEqual([]);
  expect(await query(url(), `select to_regnamespace('ledger_filter_extend')::text as staging`)).toEqual([
    { staging: null },
  ]);
  expect(await query(url(), 'select name from ledger.retention_holds')).toEqual([]);
  expect(await lostContracts(old)).toEqual([]);
  expect(
    await query(url(), `select from ledger.decoded_contracts where '${witness}' = any (witness_parties)`),
  ).toHaveLength(1);
  return fromOffset;
}

const witness = 'Eve::1220ee';

/**
 * Adds a witness to a stored contract. Updates may contain such witnesses, but lists of active contracts do not.
 */
async function addWitness(): Promise<void> {
  await query(
    url(),
    `with one as (select l."offset", l.node_id, p.signatories, p.observers, p.witness_parties
                    from ledger.live l join ledger.contract_parties p using (parties_pk) 
                   -- One that the wider filter shows more of, where there is one.
                   order by p.signatories || p.observers <@ p.witness_parties, l."offset", l.node_id limit 1),
          told as (insert into ledger.contract_parties (parties_pk, signatories, observers, witness_parties)
                   select (select least(min(parties_pk), 0) - 1 from ledger.contract_parties), signatories, observers,
                          witness_parties || '{${witness}}' from one returning parties_pk),
          alive as (update ledger.live l set parties_pk = told.parties_pk from one, told
                     where l."offset" = one."offset" and l.node_id = one.node_id)
     update ledger.contracts c set parties_pk = told.parties_pk from one, told
      where c."offset" = one."offset" and c.node_id = one.node_id`,
  );
}

async function range(): Promise<number | undefined> {
  const { at: fromOffset } = await world.row(
    `select max(from_offset)::int as at from ledger.coverage where origin = 'filter-extend'`,
  );
  return fromOffset === null ? undefined : Number(fromOffset);
}

/** All rows stored up to an offset, by position and content. */
async function storedContracts(untilOffset: number): Promise<readonly string[]> {
  const tables = ['updates', 'contracts', 'exercises', 'reassignments', 'topology_events', 'interface_views'];
  const rows = tables.map((name) => {
    // An extension may add parties and a blob to a row. All other columns must stay the same.
    const row = `to_jsonb(t) - 'parties_pk' - 'created_event_blob' - 'acs_delta'`;
    return `select '${name} ' || (${row})::text as row from ledger.${name} t where "offset" <= ${untilOffset}`;
  });
  return (await query(url(), rows.join(' union all '))).map(({ row }) => String(row));
}

async function lostContracts(activeBefore: readonly string[]): Promise<readonly string[]> {
  const now = new Set(await storedContracts(end()));
  return activeBefore.filter((row) => !now.has(row)).slice(0, 5);
}

async function statuses(): Promise<readonly unknown[]> {
  return (await query(url(), 'select status from explore.coverage order by from_offset')).map(({ status }) => status);
}

function readParts(): Promise<readonly Record<string, unknown>[]> {
  return query(
    url(),
    `select kind, name, from_offset::int, complete_from::int from explore.filter_coverage order by kind, from_offset, name`,
  );
}

describe('filter extend', () => {
  it('adds parties, with the active contracts and later updates of a fresh index', async () => {
    const [first = '', ...otherParties] = someParties;
    const fromOffset = await extendFilterTo(
      { LEDGER_PARTIES: first },
      { LEDGER_PARTIES: [first, ...otherParties].join() },
    );
    expect(await statuses()).toEqual(['complete', 'complete']);
    const partyParts = (await readParts()).filter(({ kind }) => kind === 'party');
    expect(partyParts).toEqual(
      otherParties
        .toSorted()
        .map((name) => ({ kind: 'party', name, from_offset: fromOffset, complete_from: fromOffset })),
    );
  });

  it('extends a list of parties to all parties that the token may read', async () => {
    const fromOffset = await extendFilterTo({ LEDGER_PARTIES: someParties.join() }, {});
    expect((await readParts()).find(({ kind }) => kind === 'party')).toEqual({
      kind: 'party',
      name: '*',
      from_offset: fromOffset,
      complete_from: fromOffset,
    });
  });

  it('adds templates', async () => {
    const names = ['#splice-amulet:Splice.Round:OpenMiningRound', '#splice-amulet:Splice.Amulet:Amulet'];
    await extendFilterTo({ LEDGER_TEMPLATES: names[0] ?? '' }, { LEDGER_TEMPLATES: names.join() });
    expect(
      await query(
        url(),
        `select from ledger.live join ledger.templates using (template_pk) where entity_name = 'Amulet'`,
      ),
    ).not.toEqual([]);
  });

  it('adds interfaces to a filter of templates, with contracts of other templates', async () => {
    const templateFilter = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Round:OpenMiningRound' };
    const fromOffset = await extendFilterTo(templateFilter, { ...templateFilter, LEDGER_INTERFACES: 'tokens' });
    expect(await statuses()).toEqual(['complete', 'complete']);
    const [holding] = await query(
      url(),
      `select state, complete_from::int from ledger.filter_interfaces where interface_id like '%HoldingV1:Holding'`,
    );
    expect(holding).toEqual({ state: 'followed', complete_from: fromOffset });
  });

  it('adds interfaces to a filter of all templates, with views from the beginning', async () => {
    await using indexer = await world.run('ledger', genesis);
    await indexer.reaches(end());
    await extendFilter(world, { ...genesis, LEDGER_INTERFACES: 'tokens' });
    expect(await waitUntilFollowed(url(), 'ledger', 'HoldingV1:Holding')).toBe(0);
    world.grow(40);
    await indexer.reaches(end());
    await world.index('fresh', { ...genesis, LEDGER_INTERFACES: 'tokens' });
    expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
    expect(await world.broken()).toEqual([]);
  });

  it('waits with --wait until all interfaces known to the participant are followed', async () => {
    await using indexer = await world.run('ledger', genesis);
    await indexer.reaches(end());
    const widerEnv = { ...genesis, LEDGER_INTERFACES: 'tokens,#unknown:Main:Thing' };
    const output = await world.command('filter extend --yes --wait', 'ledger', widerEnv);
    expect(output).toContain('the participant does not know #unknown:Main:Thing yet');
    expect(output).toMatch(/\ndone\n?$/);
    expect(
      await query(
        url(),
        `select from ledger.filter_interfaces where interface_id like '#splice-api-token-%V1:%' and state <> 'followed'`,
      ),
    ).toEqual([]);
  });

  it('adds created-event blobs, also to active contracts', async () => {
    await extendFilterTo({}, { LEDGER_CREATED_EVENT_BLOBS: 'true' });
    expect(
      await query(
        url(),
        `select from ledger.live l join ledger.contracts c using ("offset", node_id) where c.created_event_blob is null`,
      ),
    ).toEqual([]);
  });

  it('adds topology', async () => {
    const at = await extendFilterTo({ LEDGER_TOPOLOGY: 'false' }, { LEDGER_TOPOLOGY: 'true' });
    expect((await readParts()).find(({ kind }) => kind === 'topology')).toMatchObject({
      from_offset: at,
      complete_from: at,
    });
  });
});

describe('filter options after filter extend', () => {
  it('may name the previous filter, which is logged as outdated', async () => {
    const [first = ''] = someParties;
    const previousOptions = { ...genesis, LEDGER_PARTIES: first };
    const widerEnv = { ...genesis, LEDGER_PARTIES: someParties.join() };
    {
      await using indexer = await world.run('ledger', previousOptions);
      await indexer.reaches(end());
      await extendFilter(world, widerEnv);
      expect((await indexer.status()).outdatedOptions).toEqual(['LEDGER_PARTIES']);
      expect(indexer.logged('these options name an earlier filter: it was extended since')).toBe(1);
    }
    world.grow(20);
    await world.index('ledger', previousOptions);
    world.grow(20);
    {
      await using indexer = await world.run('ledger', widerEnv);
      await indexer.reaches(end());
      expect((await indexer.status()).outdatedOptions).toEqual([]);
    }
    expect((await world.parks('ledger', { ...genesis, LEDGER_PARTIES: someParties[1] ?? '' })).code).toBe(
      'FILTER_CHANGED',
    );
    await world.index('fresh', widerEnv);
    expect(await differences(url(), 'ledger', 'fresh', (await range()) ?? 0)).toEqual([]);
    // A filter that an operator accepts is not an extension.
    await world.command('filter accept --yes', 'ledger', genesis);
    expect((await world.parks('ledger', previousOptions)).code).toBe('FILTER_CHANGED');
  });

  it('may name the new filter before the extension is done', async () => {
    const [first = ''] = someParties;
    const widerEnv = { ...genesis, LEDGER_PARTIES: someParties.join() };
    await world.index('ledger', { ...genesis, LEDGER_PARTIES: first });
    await world.command('filter extend --yes', 'ledger', widerEnv);
    await world.command('jobs pause filter-extend');
    {
      await using indexer = await world.run('ledger', widerEnv);
      world.grow(20);
      await indexer.reaches(end());
      expect((await indexer.status()).state).toBe('live');
      expect(await range()).toBeUndefined();
      await world.command('jobs resume filter-extend');
      await waitUntilExtended(world);
    }
    await world.index('fresh', widerEnv);
    expect(await differences(url(), 'ledger', 'fresh', (await range()) ?? 0)).toEqual([]);
  });
});

describe('filter extend', () => {
  it('refuses a filter that is not wider, and changes nothing without --yes', async () => {
    const [first = '', second = ''] = someParties;
    const twoPartyEnv = { ...genesis, LEDGER_PARTIES: `${first},${second}` };
    await world.index('ledger', twoPartyEnv);
    const output = await world.command('filter extend', 'ledger', { ...genesis, LEDGER_PARTIES: someParties.join() });
    expect(output).toContain(`party ${someParties[2] ?? ''}`);
    expect(output).toContain('nothing was changed');
    expect(await query(url(), 'select from ledger.jobs')).toEqual([]);
    expect(await world.command('filter extend', 'ledger', twoPartyEnv)).toContain('nothing to do');
    for (const narrower of [
      { LEDGER_PARTIES: first },
      { LEDGER_PARTIES: `${first},${someParties[2] ?? ''}` },
      { LEDGER_PARTIES: twoPartyEnv.LEDGER_PARTIES, LEDGER_TOPOLOGY: 'false' },
      { LEDGER_PARTIES: twoPartyEnv.LEDGER_PARTIES, LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet' },
      { LEDGER_PARTIES: someParties.join(), LEDGER_SHAPE: 'ACS_DELTA' },
    ]) {
      await expect(world.command('filter extend --yes', 'ledger', { ...genesis, ...narrower })).rejects.toMatchObject({
        code: 'FILTER_EXTEND_REFUSED',
      });
    }
    expect(await query(url(), 'select from ledger.jobs')).toEqual([]);
  });

  it('refuses another participant', async () => {
    await world.index('ledger', { ...genesis, LEDGER_PARTIES: someParties.join() });
    world.sandbox.ledger.participantId = 'participant2::1220bb';
    await expect(world.command('filter extend --yes', 'ledger', genesis)).rejects.toMatchObject({
      code: 'FILTER_EXTEND_REFUSED',
    });
    expect(await query(url(), 'select from ledger.jobs')).toEqual([]);
  });

  it('adds nothing if the ledger lists other active contracts, and the stream continues', async () => {
    const [first = ''] = someParties;
    await using indexer = await world.run('ledger', { ...genesis, LEDGER_PARTIES: first });
    await indexer.reaches(end());
    await query(
      url(),
      `with one as (update ledger.live set contract_id = contract_id || '\\x07' where "offset" = (select min("offset") from ledger.live) returning *)
       update ledger.contracts c set contract_id = one.contract_id from one where c."offset" = one."offset" and c.node_id = one.node_id`,
    );
    const activeBefore = (await world.active()).length;
    await expect(extendFilter(world, genesis)).rejects.toThrow(/FILTER_EXTEND_MISMATCH: .* contracts/);
    world.grow(20);
    await indexer.reaches(end());
    const seededContracts = await query(url(), `select from ledger.contracts where origin = 's'`);
    expect([activeBefore > 0, seededContracts]).toEqual([true, []]);
    expect(await statuses()).toEqual(['complete', 'partial']);
  });
});
