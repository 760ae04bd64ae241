/**
 * Interfaces that are requested after the stream began. A background job backfills their views from the oldest offset
 * of the participant. The views must equal those of an indexer that requested the interfaces from the beginning.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';
import { hidePackage, interfaceOf, lateInterface, differingRows, waitUntilFollowed } from './interface-world.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(100);
});
afterEach(() => world.close());

const tokens = { LEDGER_INTERFACES: 'tokens', INDEXER_RETRY_MAX_DELAY: '300ms' };
const fromGenesis = { ...tokens, INDEXER_START: 'genesis' };
const holding = 'HoldingV1:Holding';
const holdingId = '#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';

const url = (): string => world.database.url;
const end = (): number => world.sandbox.ledger.ledgerEnd();

async function queryValue(sql: string): Promise<unknown> {
  const [row] = await query(url(), sql);
  return Object.values(row ?? {})[0];
}

describe('interfaces added to the filter later', () => {
  it('have the same views as in an index that requested them from the start', async () => {
    await world.index('early', tokens);
    await world.index('late');
    const beginOffset = await world.checkpoint('late');
    world.grow(100);
    await world.index('early', tokens);
    await world.index('late');
    expect(await query(url(), 'select from late.interface_views')).toEqual([]);

    await world.command('filter accept --yes', 'late', tokens);
    await using lateIndexer = await world.run('late', tokens);
    await using earlyIndexer = await world.run('early', tokens);
    world.grow(100);
    expect(await waitUntilFollowed(url(), 'late', holding)).toBe(beginOffset);
    world.grow(50);
    await lateIndexer.reaches(end());
    await earlyIndexer.reaches(end());
    expect(await differingRows(url(), 'late', 'early')).toEqual([]);
    expect(await world.broken('late')).toEqual([]);
    expect(await queryValue(`select to_regnamespace('late_interfaces')::text`)).toBeNull();
  });

  it('are complete from the pruned offset, and queries at earlier offsets fail', async () => {
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const first = await world.checkpoint();
    world.grow(200);
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const prunedOffset = first + 100;
    world.sandbox.ledger.pruneTo(prunedOffset);
    await world.command('filter accept --yes', 'ledger', tokens);
    await using indexer = await world.run('ledger', tokens);
    expect(await waitUntilFollowed(url(), 'ledger', holding)).toBe(prunedOffset);
    await indexer.reaches(end());
    expect(
      await queryValue(`select count(*)::int from explore.token_balances_at(${String(prunedOffset)})`),
    ).toBeGreaterThan(0);
    const unprunedOffset = String(prunedOffset - 1);
    for (const partialQuery of [
      `select * from explore.token_balances_at(${unprunedOffset})`,
      `select * from explore.token_holdings_at(${unprunedOffset})`,
      `select * from explore.token_journal('nobody', ${unprunedOffset}, ${String(end())})`,
    ]) {
      await expect(query(url(), partialQuery)).rejects.toMatchObject({
        code: 'LI003',
        message: expect.stringMatching(/HoldingV1/),
      });
    }
    expect(await queryValue(`select reason from explore.interface_coverage where interface_id = '${holdingId}'`)).toBe(
      `complete from offset ${String(prunedOffset)}: contracts that had ended by then have no view`,
    );
  });

  it('start a partial coverage range if templates outside the filter implement them', async () => {
    const templateFilter = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Round:OpenMiningRound' };
    await world.index('ledger', templateFilter);
    await world.command('filter accept --yes', 'ledger', { ...templateFilter, ...tokens });
    await using indexer = await world.run('ledger', { ...templateFilter, ...tokens });
    await waitUntilFollowed(url(), 'ledger', holding);
    world.grow(20);
    await indexer.reaches(end());
    const [newestRow] = await query(
      url(),
      'select status, reason from explore.coverage order by from_offset desc, recorded_at desc',
    );
    expect(newestRow).toMatchObject({
      status: 'partial',
      reason: expect.stringMatching(/are visible through .*HoldingV1/),
    });
    expect(await world.broken()).toEqual([]);
  });
});

describe('interfaces unknown to the participant', () => {
  it('are listed in /status as waiting, and followed without a gap once known', async () => {
    const revealPackage = hidePackage(world.sandbox.ledger, 'HoldingV2:Holding');
    await using indexer = await world.run('ledger', fromGenesis);
    await indexer.reaches(end());
    const waitingRow = await interfaceOf(url(), 'ledger', 'HoldingV2:Holding');
    expect(waitingRow).toMatchObject({ state: 'waiting', completeFrom: null, unknownAt: expect.any(Number) });
    expect(await indexer.status()).toMatchObject({
      state: 'live',
      interfacesWaiting: expect.arrayContaining([lateInterface]),
    });
    expect(await indexer.metric('indexer_interfaces_waiting')).toBeGreaterThan(0);
    expect(
      indexer.logged('the participant does not know these interfaces yet: their views are added when it does'),
    ).toBe(1);

    revealPackage();
    world.grow(60);
    expect(await waitUntilFollowed(url(), 'ledger', 'HoldingV2:Holding')).toBe(0);
    world.grow(60);
    await indexer.reaches(end());
    expect(indexer.log.filter((line) => line.includes('parked'))).toEqual([]);
    await world.index('fresh', fromGenesis);
    expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
    // The same updates from the participant, compared one by one, with the interfaces of each exercise.
    const replay = ['--range', '1', String(await world.checkpoint())];
    expect(await runVerify(replay, world.env('ledger', fromGenesis))).toMatchObject({ outcome: 'equal' });
    await waitFor('the status has forgotten it', async () =>
      JSON.stringify(await indexer.status()).includes(lateInterface) ? undefined : true,
    );
    expect(await world.broken()).toEqual([]);
  });

  it('do not change balances at earlier offsets once they are known', async () => {
    const v2 = 'HoldingV2:Holding';
    const revealPackage = hidePackage(world.sandbox.ledger, v2);
    await using indexer = await world.run('ledger', fromGenesis);
    await indexer.reaches(end());
    const endBefore = end();
    const balances = `select jsonb_agg(b order by b::text) from explore.token_balances_at(${String(endBefore)}) b`;
    const balancesThen = await queryValue(balances);
    await waitFor('it was requested', async () =>
      ((await interfaceOf(url(), 'ledger', v2))?.unknownAt ?? 0) >= endBefore ? true : undefined,
    );
    world.grow(40);
    await indexer.reaches(end());
    world.sandbox.ledger.pruneTo(endBefore);
    revealPackage();
    expect(await waitUntilFollowed(url(), 'ledger', v2)).toBe(0);
    expect(await queryValue(balances)).toEqual(balancesThen);
  });

  it('cause a warning instead of a park if LEDGER_INTERFACES names them', async () => {
    const missingInterface = '#no-such-package:No.Such:Interface';
    await using indexer = await world.run('ledger', {
      ...tokens,
      LEDGER_INTERFACES: `${missingInterface},${holdingId}`,
    });
    await indexer.reaches(end());
    expect(await indexer.status()).toMatchObject({ state: 'live', interfacesWaiting: [missingInterface] });
    expect(await interfaceOf(url(), 'ledger', holding)).toMatchObject({ state: 'followed', completeFrom: 0 });
    expect(
      indexer.log.find((line) => line.includes('"level":"warn"') && line.includes(missingInterface)),
    ).toBeDefined();
  });

  it('are followed in the next run after the participant knows them', async () => {
    const revealPackage = hidePackage(world.sandbox.ledger, 'HoldingV2:Holding');
    await world.index('ledger', fromGenesis);
    revealPackage();
    world.grow(30);
    await using _ = await world.run('ledger', { ...fromGenesis, INDEXER_STOP_AT: 'end' });
    expect(await waitUntilFollowed(url(), 'ledger', 'HoldingV2:Holding')).toBe(0);
    await world.index('fresh', fromGenesis);
    expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  });
});
