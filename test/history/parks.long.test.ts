/**
 * An indexer meets a ledger that differs from the indexed ledger. It parks, names the command that resolves the park,
 * and neither adds nor deletes rows.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decide } from '../../src/pipeline/retry/retry.ts';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld, type ParkedState } from './history-run.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(150);
});
afterEach(async () => {
  await world.close();
});

/** Indexes, changes the ledger, and expects that the indexer parks and changes nothing. */
async function parkAfter(
  provoke: () => void | Promise<void>,
  extraEnv: Readonly<Record<string, string>> = {},
): Promise<ParkedState> {
  await world.index('ledger', { INDEXER_START: 'genesis', ...extraEnv });
  const digestBefore = await digestOf(world.database.url, 'ledger');
  await provoke();
  const parkedState = await world.parks('ledger', { INDEXER_START: 'genesis', ...extraEnv });
  expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  return parkedState;
}

describe('a reset participant', () => {
  it('parks the indexer if the ledger is empty, and the remedy names both solutions', async () => {
    const parkedState = await parkAfter(() => world.sandbox.ledger.reset());
    expect(parkedState).toMatchObject({
      code: 'HISTORY_CHANGED',
      message: expect.stringContaining('the ledger is empty') as string,
    });
    expect(parkedState.remedy).toContain('POSTGRES_SCHEMA');
    expect(parkedState.remedy).toContain('ledger-indexer reset --all --yes');
  });

  it('parks the indexer if it has other updates below the checkpoint', async () => {
    const parkedState = await parkAfter(() => world.startOver(60));
    expect(parkedState.code).toBe('HISTORY_CHANGED');
    expect(parkedState.message).toContain('no stored update is the same');
  });

  it('parks the indexer if its new ledger end is past the checkpoint', async () => {
    const parkedState = await parkAfter(() => world.startOver(400));
    expect(parkedState.code).toBe('HISTORY_CHANGED');
    expect(parkedState.remedy).toContain('ledger-indexer reset --all --yes');
  });
});

describe('another participant at the same URL', () => {
  it('parks the indexer with an error that names the new participant', async () => {
    const parkedState = await parkAfter(() => {
      world.sandbox.ledger.participantId = 'participant2::1220bb';
    });
    expect(parkedState).toMatchObject({ code: 'PARTICIPANT_CHANGED' });
    expect(parkedState.message).toContain('participant2::1220bb');
    expect(parkedState.remedy).toContain('POSTGRES_SCHEMA');
  });
});

describe('a restored participant that reused stored offsets', () => {
  it('parks the indexer until it is reset to the newest common offset', async () => {
    let commonOffset = 0;
    const parkedState = await parkAfter(() => {
      const end = world.sandbox.ledger.ledgerEnd();
      commonOffset = end - 40;
      world.restore(commonOffset);
      while (world.sandbox.ledger.ledgerEnd() <= end + 10) world.grow(1);
    });
    expect(parkedState.code).toBe('HISTORY_CHANGED');
    const [, namedOffset = ''] = /ledger-indexer reset --to (\d+) --yes/.exec(parkedState.remedy) ?? [];
    // The newest common update. The offsets after it, up to the backup, may have no update.
    expect(Number(namedOffset)).toBeLessThanOrEqual(commonOffset);
    expect(Number(namedOffset)).toBeGreaterThan(commonOffset - 6);
    await world.command(`reset --to ${namedOffset} --yes`);
    await world.index('ledger', { INDEXER_START: 'genesis' });
    await world.index('fresh', { INDEXER_START: 'genesis' });
    expect(await world.active()).toEqual(await world.active('fresh'));
    const updates = (schema: string): Promise<Record<string, unknown>> =>
      world.row(`select count(*), md5(string_agg(update_id, ',' order by "offset")) from ${schema}.decoded_updates`);
    expect(await updates('ledger')).toEqual(await updates('fresh'));
  });

  it('parks an indexer that was connected during the restore', async () => {
    await using indexer = await world.run('ledger', { INDEXER_START: 'genesis' });
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    world.restore(end - 40);
    while (world.sandbox.ledger.ledgerEnd() <= end + 10) world.grow(1);
    await waitFor('the indexer parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    expect(await indexer.status()).toMatchObject({ checkpoint: end, lastError: { code: 'HISTORY_CHANGED' } });
  });

  it('parks the indexer if only the last update differs', async () => {
    const parkedState = await parkAfter(() => world.sandbox.ledger.rewriteAfter(world.sandbox.ledger.ledgerEnd() - 1));
    expect(parkedState).toMatchObject({ code: 'HISTORY_CHANGED' });
    expect(parkedState.remedy).toMatch(/ledger-indexer reset --to \d+ --yes/);
  });
});

describe('pruning', () => {
  it('parks the indexer if it passes the checkpoint, and stored updates are kept', async () => {
    const { ledger, faults } = world.sandbox;
    await world.index('whole', { INDEXER_START: 'genesis' });
    faults.prune = { path: '/v2/updates', afterFrames: 50, to: ledger.ledgerEnd() };
    const parkedState = await world.parks('ledger', { INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '10' });
    expect(parkedState.code).toBe('LEDGER_PRUNED');
    expect(parkedState.remedy).toContain('reseed');
    const [someCount, totalCount] = [
      await world.row('select count(*) as n from ledger.updates'),
      await world.row('select count(*) as n from whole.updates'),
    ];
    expect(Number(someCount['n'])).toBeGreaterThan(0);
    expect(Number(someCount['n'])).toBeLessThan(Number(totalCount['n']));
  });

  it('is reported as its distance from the checkpoint in a metric', async () => {
    await using indexer = await world.run();
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    expect(await indexer.metric('indexer_prune_headroom_offsets')).toBe(end);
    world.sandbox.ledger.pruneTo(end - 25);
    await waitFor('the poll', async () =>
      (await indexer.metric('indexer_participant_pruned_offset')) > 0 ? true : undefined,
    );
    expect(await indexer.metric('indexer_prune_headroom_offsets')).toBe(25);
  });

  it('restarts a seed without a park', async () => {
    const { ledger, faults } = world.sandbox;
    const end = ledger.ledgerEnd();
    faults.streamFailure = {
      path: '/v2/state/active-contracts',
      failure: 'PARTICIPANT_PRUNED_DATA_ACCESSED',
      afterFrames: 10,
      times: 1,
    };
    await using indexer = await world.run();
    await waitFor('the first try fails', () => (indexer.logged('backing off') > 0 ? true : undefined));
    await indexer.reaches(end);
    await waitFor('live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
  });
});

describe('history check with an unreadable participant id', () => {
  const unreadable = async (): Promise<void> => {
    world.sandbox.faults.answer = { path: '/v2/parties/participant-id', as: 'PERMISSION_DENIED' };
    await world.index('ledger', { INDEXER_START: 'genesis' });
  };

  it('accepts a pruned history with the same active contracts', async () => {
    await unreadable();
    world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd());
    world.grow(10);
    await world.index('ledger', { INDEXER_START: 'genesis' });
  });

  it('parks the indexer if the ledger has none of the stored contracts', async () => {
    await unreadable();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const checkpoint = await world.checkpoint();
    world.sandbox.faults.answer = { path: '/v2/parties/participant-id', as: 'PERMISSION_DENIED' };
    world.startOver(400);
    world.sandbox.ledger.pruneTo(checkpoint);
    const parkedState = await world.parks('ledger', { INDEXER_START: 'genesis' });
    expect(parkedState).toMatchObject({
      code: 'HISTORY_CHANGED',
      message: expect.stringContaining('knows none of') as string,
    });
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });
});

describe('a lagging replica', () => {
  it('makes the indexer back off, and is followed again after it catches up', async () => {
    await world.index('ledger', { INDEXER_START: 'genesis' });
    const checkpoint = await world.checkpoint();
    world.sandbox.ledger.lagBehind(20);
    await using indexer = await world.run();
    await waitFor('two tries', () => (indexer.logged('ledger failed, trying again') >= 2 ? true : undefined));
    expect(await indexer.status()).toMatchObject({
      state: 'backing_off',
      lastError: { code: 'LEDGER_BEHIND_CHECKPOINT' },
    });
    expect(await world.checkpoint()).toBe(checkpoint);
    world.sandbox.ledger.lagBehind(0);
    world.grow(5);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    expect(indexer.logged('parked: an operator is needed')).toBe(0);
  });

  it('parks the indexer after five minutes', () => {
    for (const code of ['LEDGER_BEHIND_CHECKPOINT', 'LEDGER_OFFSET_AFTER_END'] as const) {
      const error = new IndexerError('behind', { code, retry: 'retry' });
      const parkAfterUpdates = (durationMs: number): unknown =>
        decide(error, { failures: 30, repeated: 30, lastingMs: durationMs }, 1_000, 0.5);
      expect(parkAfterUpdates(299_000)).toMatchObject({ phase: 'backing_off' });
      expect(parkAfterUpdates(301_000)).toMatchObject({ phase: 'parked' });
    }
  });

  it('is not confused with a restored participant, which parks the indexer', async () => {
    const parkedState = await parkAfter(() => {
      const end = world.sandbox.ledger.ledgerEnd();
      world.restore(end - 40);
      world.grow(10);
    });
    expect(parkedState.code).toBe('HISTORY_CHANGED');
    expect(parkedState.remedy).toMatch(/ledger-indexer reset --to \d+ --yes/);
  });
});
