/**
 * Interfaces that are requested after the stream began. A background job backfills their views from the oldest offset
 * of the participant. The views must equal those of an indexer that requested the interfaces from the beginning.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';
import { forgets, interfaceOf, late, differingRows, untilFollowed } from './interface-world.ts';
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
    const begin = await world.checkpoint('late');
    world.grow(100);
    await world.index('early', tokens);
    await world.index('late');
    expect(await query(url(), 'select from late.interface_views')).toEqual([]);

    await world.command('filter accept --yes', 'late', tokens);
    await using late = await world.run('late', tokens);
    await using early = await world.run('early', tokens);
    world.grow(100);
    expect(await untilFollowed(url(), 'late', holding)).toBe(begin);
    world.grow(50);
    await late.reaches(end());
    await early.reaches(end());
    expect(await differingRows(url(), 'late', 'early')).toEqual([]);
    expect(await world.broken('late')).toEqual([]);
    expect(await queryValue(`select to_regnamespace('late_interfaces')::text`)).toBeNull();
  });

  it('are complete from the pruned offset, and queries at earlier offsets fail', async () => {
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const first = await world.checkpoint();
    world.grow(200);
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const pruned = first + 100;
    world.sandbox.ledger.pruneTo(pruned);
    await world.command('filter accept --yes', 'ledger', tokens);
    await using indexer = await world.run('ledger', tokens);
    expect(await untilFollowed(url(), 'ledger', holding)).toBe(pruned);
    await indexer.reaches(end());
    expect(await queryValue(`select count(*)::int from explore.token_balances_at(${String(pruned)})`)).toBeGreaterThan(
      0,
    );
    const before = String(pruned - 1);
    for (const partial of [
      `select * from explore.token_balances_at(${before})`,
      `select * from explore.token_holdings_at(${before})`,
      `select * from explore.token_journal('nobody', ${before}, ${String(end())})`,
    ]) {
      await expect(query(url(), partial)).rejects.toMatchObject({
        code: 'LI003',
        message: expect.stringMatching(/HoldingV1/),
      });
    }
    expect(await queryValue(`select reason from explore.interface_coverage where interface_id = '${holdingId}'`)).toBe(
      `complete from offset ${String(pruned)}: contracts that had ended by then have no view`,
    );
  });

  it('start a partial coverage range if templates outside the filter implement them', async () => {
    const named = { LEDGER_TEMPLATES: '#splice-amulet:Splice.Round:OpenMiningRound' };
    await world.index('ledger', named);
    await world.command('filter accept --yes', 'ledger', { ...named, ...tokens });
    await using indexer = await world.run('ledger', { ...named, ...tokens });
    await untilFollowed(url(), 'ledger', holding);
    world.grow(20);
    await indexer.reaches(end());
    const [newest] = await query(
      url(),
      'select status, reason from explore.coverage order by from_offset desc, recorded_at desc',
    );
    expect(newest).toMatchObject({
      status: 'partial',
      reason: expect.stringMatching(/are visible through .*HoldingV1/),
    });
    expect(await world.broken()).toEqual([]);
  });
});

describe('interfaces unknown to the participant', () => {
  it('are listed in /status as waiting, and followed without a gap once known', async () => {
    const learn = forgets(world.sandbox.ledger, 'HoldingV2:Holding');
    await using indexer = await world.run('ledger', fromGenesis);
    await indexer.reaches(end());
    const waiting = await interfaceOf(url(), 'ledger', 'HoldingV2:Holding');
    expect(waiting).toMatchObject({ state: 'waiting', completeFrom: null, unknownAt: expect.any(Number) });
    expect(await indexer.status()).toMatchObject({
      state: 'live',
      interfacesWaiting: expect.arrayContaining([late]),
    });
    expect(await indexer.metric('indexer_interfaces_waiting')).toBeGreaterThan(0);
    expect(
      indexer.logged('the participant does not know these interfaces yet: their views are added when it does'),
    ).toBe(1);

    learn();
    world.grow(60);
    expect(await untilFollowed(url(), 'ledger', 'HoldingV2:Holding')).toBe(0);
    world.grow(60);
    await indexer.reaches(end());
    expect(indexer.log.filter((line) => line.includes('parked'))).toEqual([]);
    await world.index('fresh', fromGenesis);
    expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
    // The same updates from the participant, compared one by one, with the interfaces of each exercise.
    const replay = ['--range', '1', String(await world.checkpoint())];
    expect(await runVerify(replay, world.env('ledger', fromGenesis))).toMatchObject({ outcome: 'equal' });
    await waitFor('the status has forgotten it', async () =>
      JSON.stringify(await indexer.status()).includes(late) ? undefined : true,
    );
    expect(await world.broken()).toEqual([]);
  });

  it('do not change balances at earlier offsets once they are known', async () => {
    const v2 = 'HoldingV2:Holding';
    const learn = forgets(world.sandbox.ledger, v2);
    await using indexer = await world.run('ledger', fromGenesis);
    await indexer.reaches(end());
    const before = end();
    const balances = `select jsonb_agg(b order by b::text) from explore.token_balances_at(${String(before)}) b`;
    const then = await queryValue(balances);
    await waitFor('it was requested', async () =>
      ((await interfaceOf(url(), 'ledger', v2))?.unknownAt ?? 0) >= before ? true : undefined,
    );
    world.grow(40);
    await indexer.reaches(end());
    world.sandbox.ledger.pruneTo(before);
    learn();
    expect(await untilFollowed(url(), 'ledger', v2)).toBe(0);
    expect(await queryValue(balances)).toEqual(then);
  });

  it('cause a warning instead of a park if LEDGER_INTERFACES names them', async () => {
    const missing = '#no-such-package:No.Such:Interface';
    await using indexer = await world.run('ledger', { ...tokens, LEDGER_INTERFACES: `${missing},${holdingId}` });
    await indexer.reaches(end());
    expect(await indexer.status()).toMatchObject({ state: 'live', interfacesWaiting: [missing] });
    expect(await interfaceOf(url(), 'ledger', holding)).toMatchObject({ state: 'followed', completeFrom: 0 });
    expect(indexer.log.find((line) => line.includes('"level":"warn"') && line.includes(missing))).toBeDefined();
  });

  it('are followed in the next run after the participant knows them', async () => {
    const learn = forgets(world.sandbox.ledger, 'HoldingV2:Holding');
    await world.index('ledger', fromGenesis);
    learn();
    world.grow(30);
    await using _ = await world.run('ledger', { ...fromGenesis, INDEXER_STOP_AT: 'end' });
    expect(await untilFollowed(url(), 'ledger', 'HoldingV2:Holding')).toBe(0);
    await world.index('fresh', fromGenesis);
    expect(await differingRows(url(), 'ledger', 'fresh')).toEqual([]);
  });
});
