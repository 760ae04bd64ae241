/** Tests how `reseed` bridges a gap that cannot be filled, what it reports, and when it must fail. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(120);
});
afterEach(async () => {
  await world.close();
});

/** Indexes from genesis and stops. Then the ledger continues and prunes most of the later updates. */
async function growLedger(): Promise<{ readonly checkpoint: number; readonly end: number }> {
  await world.index('ledger', { INDEXER_START: 'genesis' });
  const checkpoint = await world.checkpoint();
  world.grow(100);
  const end = world.sandbox.ledger.ledgerEnd();
  world.sandbox.ledger.pruneTo(end - 10);
  return { checkpoint, end };
}

const history = (untilOffset: number): string =>
  `select (select count(*) from ledger.updates where "offset" <= ${untilOffset}) as updates,
          (select md5(string_agg(contract_id || activated_offset || coalesce(deactivated_offset <= ${untilOffset}, false), ',' order by contract_id, activated_offset))
             from ledger.lifetimes where activated_offset <= ${untilOffset}) as lifetimes`;

/** Expects that the counts of active contracts match the rows that they count. */
async function checkCounts(): Promise<void> {
  const wrongCounters = await query(
    world.database.url,
    `select * from (select template_pk, count(*) as activated, count(deactivated_offset) as deactivated
                      from ledger.lifetimes group by 1) l
       full join ledger.active_counts a using (template_pk)
      where (l.activated, l.deactivated) is distinct from (a.activated, a.deactivated)`,
  );
  expect(wrongCounters).toEqual([]);
}

describe('reseed after pruning past the checkpoint', () => {
  it('is named as the remedy when the indexer parks without changes', async () => {
    const { checkpoint, end } = await growLedger();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const parkedState = await world.parks();
    expect(parkedState.code).toBe('LEDGER_PRUNED');
    expect(parkedState.message).toContain(`pruned up to offset ${end - 10}, past our checkpoint ${checkpoint}`);
    expect(parkedState.remedy).toContain('ledger-indexer reseed --yes');
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('records the gap, corrects active contracts and keeps earlier history', async () => {
    const { checkpoint, end } = await growLedger();
    const historyBefore = await world.row(history(checkpoint));
    const plan = await world.command('reseed');
    expect(plan).toContain('nothing was changed');
    expect(await world.checkpoint()).toBe(checkpoint);
    const reseedOutput = await world.command('reseed --yes');
    expect(reseedOutput).toMatch(/\d+ contracts are active as before, [1-9]\d* ended in the gap, .* [1-9]\d* are new/);
    expect(reseedOutput).toContain(`the gap, which is ${checkpoint + 1} to ${end - 10}`);
    expect(await world.checkpoint()).toBe(end - 10);
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.row(history(checkpoint))).toEqual(historyBefore);
    expect(await world.broken()).toEqual([]);
    await checkCounts();
    const ranges = await query(world.database.url, 'select * from ledger.coverage order by from_offset');
    expect(ranges).toMatchObject([
      { from_offset: '0', to_offset: String(checkpoint), origin: 'genesis', reason: null },
      { from_offset: String(end - 10), to_offset: null, origin: 'reseed' },
    ]);
    expect(String(ranges[1]?.['reason'])).toContain(`pruned up to ${end - 10}, past the checkpoint ${checkpoint}`);
    expect(await world.row(`select to_regnamespace('ledger_reseed')::text as staging`)).toEqual({ staging: null });
  });

  it('ends contracts that are no longer active', async () => {
    const { checkpoint, end } = await growLedger();
    await world.command('reseed --yes');
    const { ended: endedCount, exact } = await world.row(
      `select count(*) as ended, count(*) filter (where deactivated_offset = ${end - 10}) as exact
         from ledger.lifetimes where activated_offset <= ${checkpoint} and deactivated_offset > ${checkpoint}`,
    );
    expect(Number(endedCount)).toBeGreaterThan(0);
    expect(Number(exact)).toBeGreaterThan(0);
    const statuses = await query(
      world.database.url,
      `select distinct status from explore.contracts
        where created_at_offset <= ${checkpoint} and archived_at_offset > ${checkpoint}
          and archived_at_offset not in (select "offset" from ledger.updates)`,
    );
    expect(statuses).toEqual([{ status: 'ended' }]);
  });

  it('keeps active contracts correct after later updates and a reset to the end of the gap', async () => {
    await growLedger();
    await world.command('reseed --yes');
    world.grow(60);
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.broken()).toEqual([]);
    // A reset to an offset in the gap is impossible, but a reset to its end is possible.
    const { seed_offset: end } = await world.row('select seed_offset from ledger.stream');
    await expect(world.command(`reset --to ${Number(end) - 1} --yes`)).rejects.toMatchObject({ code: 'RESET_REFUSED' });
    await world.command(`reset --to ${String(end)} --yes`);
    await world.index();
    expect(await world.active()).toEqual(await world.active('fresh'));
  });
});

describe('reseed', () => {
  it('ends the gap at the pruned offset, and every later update is stored', async () => {
    const { checkpoint, end } = await growLedger();
    await world.command('reseed --yes');
    await world.index();
    const { first, last, stored } = await world.row(
      `select min("offset")::int as first, max("offset")::int as last, count(*)::int as stored
         from ledger.updates where "offset" > ${checkpoint}`,
    );
    const offsets = world.sandbox.ledger.range(end - 10, end, 100).map(({ offset }) => offset);
    expect([first, last, stored]).toEqual([offsets[0], offsets.at(-1), offsets.length]);
  });

  it('ends the gap at the ledger end if the ledger cannot list contracts at the pruned offset', async () => {
    const { checkpoint, end } = await growLedger();
    const path = '/v2/state/active-contracts';
    world.sandbox.faults.streamFailure = { path, failure: 'PARTICIPANT_PRUNED_DATA_ACCESSED', times: 1 };
    const reseedOutput = await world.command('reseed --yes');
    expect(reseedOutput).toContain(`the gap, which is ${checkpoint + 1} to ${end}`);
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.broken()).toEqual([]);
  });

  it('leaves no gap if nothing was pruned past the checkpoint', async () => {
    const genesis = { INDEXER_START: 'genesis' };
    await world.index('ledger', genesis);
    const checkpoint = await world.checkpoint();
    const activeBefore = await world.active();
    world.grow(80);
    const reseedOutput = await world.command('reseed --yes');
    expect(reseedOutput).toContain(`${activeBefore.length} contracts are active as before, 0 ended, 0 are new`);
    expect(await world.checkpoint()).toBe(checkpoint);
    expect(await world.active()).toEqual(activeBefore);
    await world.index('ledger', genesis);
    await world.index('fresh', genesis);
    const updates = (schema: string) =>
      world.row(`select count(*)::int as n, max("offset")::int from ${schema}.updates`);
    expect(await updates('ledger')).toEqual(await updates('fresh'));
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.broken()).toEqual([]);
    await checkCounts();
  });
});

describe('reseed', () => {
  it('leaves the stream unchanged when it fails, and completes on the next run', async () => {
    await growLedger();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const path = '/v2/state/active-contracts';
    world.sandbox.faults.streamFailure = { path, failure: 'PERMISSION_DENIED', afterFrames: 20 };
    const smallBatchEnv = { INDEXER_BATCH_UPDATES: '2' };
    await expect(world.command('reseed --yes', 'ledger', smallBatchEnv)).rejects.toMatchObject({
      code: 'LEDGER_PERMISSION_DENIED',
    });
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
    const { seed_contracts: stagedContracts } = await world.row('select seed_contracts from ledger_reseed.stream');
    expect(Number(stagedContracts)).toBeGreaterThan(0);
    world.sandbox.faults.streamFailure = undefined;
    await world.command('reseed --yes', 'ledger', smallBatchEnv);
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
  });

  it('completes on the next run after a failure while it creates staging tables', async () => {
    await growLedger();
    await query(
      world.database.url,
      `create function public.cut() returns event_trigger language plpgsql as $$
       begin
         if to_regclass('ledger_reseed.stream') is not null then raise 'cut'; end if;
       end $$`,
    );
    // Each step is a separate transaction. The first step has created the table of the stream, the second one is
    // interrupted.
    await query(
      world.database.url,
      `create event trigger cut on ddl_command_start when tag in ('ALTER TABLE') execute function public.cut()`,
    );
    await expect(world.command('reseed --yes')).rejects.toThrow();
    await query(world.database.url, 'drop event trigger cut');
    const { there: reseedSchema } = await world.row(`select to_regclass('ledger_reseed.stream') is not null as there`);
    expect(reseedSchema).toBe(true);
    await world.command('reseed --yes');
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
  });

  it('completes on the next run after a failure while it merges rows', async () => {
    await growLedger();
    await query(
      world.database.url,
      `create function public.no() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await query(
      world.database.url,
      'create trigger no before update on ledger.stream for each row execute function public.no()',
    );
    await expect(world.command('reseed --yes')).rejects.toThrow();
    await query(world.database.url, 'drop trigger no on ledger.stream');
    await world.command('reseed --yes');
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    await checkCounts();
  });

  it('runs while the indexer is parked, because the writer lock is released', async () => {
    await growLedger();
    await using indexer = await world.run();
    await expect.poll(async () => (await indexer.status()).state, { timeout: 40_000 }).toBe('parked');
    expect(await world.command('reseed --yes')).toContain('done:');
  });
});

describe('a changed history', () => {
  it('is refused by reseed if the participant was reset', async () => {
    await world.index();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    world.startOver(400);
    await expect(world.command('reseed --yes')).rejects.toMatchObject({ code: 'RESEED_REFUSED' });
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('is refused by reseed if it belongs to another participant', async () => {
    await world.index();
    world.sandbox.ledger.participantId = 'participant2::1220bb';
    await expect(world.command('reseed --yes')).rejects.toMatchObject({ code: 'RESEED_REFUSED' });
  });

  it('is detected by its contracts if all common updates are pruned', async () => {
    await world.index();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    world.startOver(400);
    world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd() - 1);
    await query(world.database.url, 'update ledger.stream set participant_id = null');
    await expect(world.command('reseed --yes')).rejects.toMatchObject({ code: 'HISTORY_CHANGED' });
    await query(world.database.url, `update ledger.stream set participant_id = '${world.sandbox.participantId}'`);
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('is detected by a contract at the position of another contract', async () => {
    await growLedger();
    // These rows are otherwise not compared with the list of active contracts.
    await query(
      world.database.url,
      'update ledger.contracts set contract_id = set_byte(contract_id, 9, 255 - get_byte(contract_id, 9))',
    );
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const refusedReseed = world.command('reseed --yes');
    await expect(refusedReseed).rejects.toThrow(/[1-9]\d* contracts there are at the position of other contracts here/);
    await expect(refusedReseed).rejects.toMatchObject({ code: 'HISTORY_CHANGED' });
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('is indexed after reset --all', async () => {
    await world.index();
    world.startOver(400);
    expect(await world.command('reset --all')).toContain('nothing was changed');
    await world.command('reset --all --yes');
    await world.index();
    await world.index('fresh');
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });
});
