/**
 * A participant is restored from a backup. Its ledger has no updates, or other updates, at the newest stored offsets.
 * The indexer parks and names the newest common offset, and a reset to it resolves the park. The indexer never skips
 * missing updates.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../support/digest.ts';
import { HistoryWorld } from './history-run.ts';

const genesis = { INDEXER_START: 'genesis' };

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(120);
});
afterEach(async () => {
  await world.close();
});

/** Offset of the newest stored update up to `untilOffset`. */
async function newestOffset(untilOffset = Number.MAX_SAFE_INTEGER): Promise<number> {
  return Number(
    (await world.row(`select max("offset") as o from ledger.updates where "offset" <= ${untilOffset}`))['o'],
  );
}

/**
 * Expects that the indexer parks, names `commonOffset` and changes nothing. The command in the log must then yield the
 * rows of a new start.
 */
async function isResolvedBy(commonOffset: number, messagePattern: RegExp, start = genesis): Promise<void> {
  const digestBefore = await digestOf(world.database.url, 'ledger');
  const parkedState = await world.parks('ledger', start);
  expect(parkedState.code).toBe('HISTORY_CHANGED');
  expect(parkedState.message).toMatch(messagePattern);
  expect(parkedState.message).toContain(`both are the same up to offset ${commonOffset}`);
  expect(parkedState.remedy).toContain(`ledger-indexer reset --to ${commonOffset} --yes`);
  expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  await world.command(`reset --to ${commonOffset} --yes`);
  await world.index('ledger', start);
  await world.index('fresh', start);
  expect(await world.active()).toEqual(await world.active('fresh'));
  const updates = (schema: string) =>
    world.row(`select count(*), md5(string_agg(update_id, ',' order by "offset")) from ${schema}.decoded_updates`);
  expect(await updates('ledger')).toEqual(await updates('fresh'));
  expect(await world.broken()).toEqual([]);
}

describe('a participant restored from a backup', () => {
  it('parks the indexer until reset --to if it lacks only the newest stored update', async () => {
    await world.index('ledger', genesis);
    const last = await newestOffset();
    const commonOffset = await newestOffset(last - 1);
    world.restore(last - 1);
    world.sandbox.ledger.skipOffsets(3);
    world.grow(10);
    await isResolvedBy(commonOffset, new RegExp(`the ledger has no update at offset ${last}, where we stored one`));
  });

  it('parks the indexer until reset --to if it lacks many of the newest stored updates', async () => {
    await world.index('ledger', genesis);
    const last = await newestOffset();
    const commonOffset = await newestOffset(last - 30);
    world.restore(commonOffset);
    world.sandbox.ledger.skipOffsets(last - commonOffset + 20);
    world.grow(5);
    await isResolvedBy(commonOffset, /the ledger has no update at offset/);
  });

  it('parks the indexer until reset --to if it has other updates and lacks the newest one', async () => {
    await world.index('ledger', genesis);
    const last = await newestOffset();
    const commonOffset = await newestOffset(last - 30);
    world.restore(commonOffset);
    while (world.sandbox.ledger.ledgerEnd() < last - 10) world.grow(1);
    world.sandbox.ledger.skipOffsets(40);
    world.grow(5);
    await isResolvedBy(commonOffset, new RegExp(`the ledger has no update at offset ${last}`));
  });

  it('parks the indexer until reset --to if it has a new update below the checkpoint', async () => {
    const { ledger } = world.sandbox;
    ledger.skipOffsets(40);
    await world.index('ledger', genesis);
    const last = await newestOffset();
    const checkpoint = await world.checkpoint();
    expect(checkpoint).toBeGreaterThanOrEqual(last + 40);
    world.restore(last);
    ledger.skipOffsets(10);
    world.grow(3);
    const ledgerOffset = ledger.range(last, checkpoint, 1)[0]?.offset;
    ledger.skipOffsets(100);
    await isResolvedBy(last, new RegExp(`the ledger has an update at offset ${ledgerOffset}, where we stored none`));
  });

  it('parks the indexer if it lacks the update of the seed, and the remedy is a new schema', async () => {
    const { ledger } = world.sandbox;
    await world.index('ledger');
    const seed = await world.checkpoint();
    world.restore(seed - 60);
    ledger.skipOffsets(100);
    world.grow(5);
    const digestBefore = await digestOf(world.database.url, 'ledger');
    const parkedState = await world.parks('ledger');
    expect(parkedState.code).toBe('HISTORY_CHANGED');
    expect(parkedState.message).toMatch(
      /the ledger has no update at offset \d+, where we stored one; no stored update is the same/,
    );
    expect(parkedState.remedy).toContain('POSTGRES_SCHEMA');
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  });
});

describe('a participant ahead of the checkpoint', () => {
  it('is accepted if neither side has an update at the checkpoint', async () => {
    world.sandbox.ledger.skipOffsets(40);
    await world.index('ledger', genesis);
    world.sandbox.ledger.skipOffsets(20);
    world.grow(5);
    await world.index('ledger', genesis);
    await world.index('fresh', genesis);
    expect(await world.active()).toEqual(await world.active('fresh'));
  });

  it('is accepted if the update at the checkpoint is quarantined', async () => {
    const { ledger } = world.sandbox;
    world.grow(1);
    await world.index('ledger', genesis);
    const last = await newestOffset();
    // Simulates a quarantined update: it is not stored, and the checkpoint is past it.
    await world.command(`reset --to ${await newestOffset(last - 1)} --yes`);
    await world.row(
      `with q as (insert into ledger.quarantine ("offset", code, problem, frame, epoch) values (${last}, 'X', 'x', '', 1))
       update ledger.stream set checkpoint = ${last}`,
    );
    ledger.skipOffsets(5);
    world.grow(2);
    await world.index('ledger', genesis);
    expect(await world.checkpoint()).toBeGreaterThan(last);
  });
});
