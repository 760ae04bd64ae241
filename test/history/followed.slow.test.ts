/** Unusual but valid histories, and revoked rights. The indexer must store correct rows and no additional ones. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { archived, exercised, text, transaction } from '../support/frames.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(40);
});
afterEach(async () => {
  await world.close();
});

describe('record times', () => {
  it('may decrease between updates, and the newest time per synchronizer is stored', async () => {
    const { ledger } = world.sandbox;
    const [firstSynchronizer, secondSynchronizer] = ledger.synchronizers.map(({ id }) => id);
    ledger.lagSynchronizer(secondSynchronizer ?? '', 3_600_000_000);
    for (let round = 0; round < 6; round += 1) {
      const argument = { issuer: 'a', owner: 'a', amount: '1' };
      const commands = [{ kind: 'create', templateId: '#model-tests:Iou:Iou', argument }] as const;
      ledger.submit({
        commands,
        actAs: ['a'],
        synchronizerId: (round % 2 === 0 ? firstSynchronizer : secondSynchronizer) ?? '',
      });
    }
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const backward = await query(
      world.database.url,
      `select from (select record_time < lag(record_time) over (order by "offset") as back from ledger.updates) t where back`,
    );
    expect(backward.length).toBeGreaterThan(0);
    const storedTimes = await world.row('select record_times from ledger.stream');
    expect(storedTimes['record_times']).toEqual(Object.fromEntries(ledger.recordTimes()));
    const end = await world.checkpoint();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    await world.command(`reset --to ${end - 3} --yes`);
    await world.index('ledger', { INDEXER_START: 'genesis' });
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });
});

describe('events of a contract without a create', () => {
  it('are stored without adding a contract', async () => {
    const { ledger } = world.sandbox;
    const end = ledger.ledgerEnd();
    const unseenContract = { contractId: '00unseen' };
    ledger.appendRaw(
      text(transaction(end + 1, [{ ExercisedEvent: exercised({ ...unseenContract, offset: end + 1 }) }])),
    );
    ledger.appendRaw(text(transaction(end + 2, [{ ArchivedEvent: archived({ ...unseenContract, offset: end + 2 }) }])));
    await world.index('ledger', { INDEXER_START: 'genesis' });
    expect(
      await world.row(
        `select (select count(*) from ledger.decoded_exercises where contract_id = '00unseen')::int as exercises,
                (select count(*) from ledger.decoded_archives where contract_id = '00unseen')::int as archives,
                (select count(*) from ledger.decoded_contracts where contract_id = '00unseen')::int as contracts,
                (select count(*) from ledger.lifetimes where contract_id = '00unseen')::int as lifetimes`,
      ),
    ).toEqual({ exercises: 1, archives: 1, contracts: 0, lifetimes: 0 });
    expect(await query(world.database.url, 'select * from ledger.active_counts where activated < deactivated')).toEqual(
      [],
    );
  });
});

describe('revoked rights', () => {
  it('park the indexer, and stored rows stay unchanged', async () => {
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const digestBefore = await digestOf(world.database.url, 'ledger');
    world.sandbox.faults.streamFailure = { path: '/v2/updates', failure: 'PERMISSION_DENIED' };
    world.grow(1);
    const parkedState = await world.parks('ledger', { INDEXER_START: 'genesis' });
    expect(parkedState.code).toBe('LEDGER_PERMISSION_DENIED');
    expect(parkedState.remedy).toContain('CanReadAs');
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });

  it('park the indexer after STALE_STREAM_AUTHORIZATION has ended its stream', async () => {
    await using indexer = await world.run();
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    world.sandbox.faults.streamFailure = { path: '/v2/updates', failure: 'STALE_STREAM_AUTHORIZATION', times: 1 };
    world.sandbox.faults.answer = { path: '/v2/state/ledger-end', as: 'PERMISSION_DENIED' };
    world.grow(1);
    await waitFor('the indexer parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    expect((await indexer.status()).lastError).toMatchObject({ code: 'LEDGER_PERMISSION_DENIED' });
  });
});
