/**
 * A daemon that is stopped, replaced or disconnected under load stores the same rows as a daemon without interruptions.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { createWorld, progress, type World } from './runs/daemon-world.ts';

/** This is longer than the time in which the daemon treats a second signal as a repetition of the first. */
const echoMs = 1_000;

describe('daemon under load', () => {
  const fastEnv = { INDEXER_START: 'genesis' };
  /** Small batches are used until the interruption is over. The remaining updates are stored in large batches. */
  const slowEnv = { ...fastEnv, INDEXER_BATCH_UPDATES: '3' };
  let world: World;
  let expected: string;

  beforeAll(async () => {
    const schemas = ['reference', 'stopped', 'insisted', 'shared', 'terminated', 'cut'];
    world = await createWorld(43, await createMigratedDatabase(schemas));
    world.grow(1_200);
    await using reference = world.start('reference', fastEnv);
    expected = await world.finish(reference, 'reference');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('exits with 0 on SIGTERM, and the next daemon resumes after the checkpoint', async () => {
    const { stored } = world;
    await using first = world.start('stopped', slowEnv);
    await progress(world, first, 'stopped', 200);
    first.signal('SIGTERM');
    expect(await first.exited).toEqual({ code: 0, signal: null });
    const checkpoint = (await stored.checkpoint('stopped')) ?? 0;
    expect(checkpoint).toBeLessThan(world.sandbox.ledger.ledgerEnd());

    await using second = world.start('stopped', fastEnv);
    expect(await world.finish(second, 'stopped')).toBe(expected);
    const { rows } = await stored.client.query<{ first: string; gap: string }>(
      `select min("offset") filter (where epoch = 2) as first,
              (select min("offset") from reference.updates where "offset" > $1) as gap from stopped.decoded_updates`,
      [checkpoint],
    );
    expect(rows[0]?.first).toBe(rows[0]?.gap);
  });

  it('exits with 75 on a second SIGTERM while it waits for Postgres, and loses no rows', async () => {
    const { client } = world.stored;
    await using first = world.start('insisted', slowEnv);
    await progress(world, first, 'insisted', 100);
    await client.query('begin; lock table insisted.updates in access exclusive mode');
    try {
      await waitFor('a batch waits for the lock', async () => {
        const { rowCount } = await client.query(
          `select from pg_locks where relation = 'insisted.updates'::regclass and not granted`,
        );
        return rowCount === 0 ? undefined : true;
      });
      first.signal('SIGTERM');
      await first.logged('stopping');
      expect(first.exit()).toBeUndefined();
      // Signals in quick succession count as one signal. To insist, the second signal must come later.
      await pause(echoMs);
      expect(first.exit()).toBeUndefined();
      first.signal('SIGTERM');
      expect(await first.exited).toEqual({ code: 75, signal: null });
    } finally {
      await client.query('rollback');
    }
    await using second = world.start('insisted', fastEnv);
    expect(await world.finish(second, 'insisted')).toBe(expected);
  });

  it('is replaced by a standby when it is killed', async () => {
    await using first = world.start('shared', slowEnv);
    await progress(world, first, 'shared', 100);
    await using second = world.start('shared', fastEnv);
    await second.logged('standby');
    const readyResponse = await fetch(`${await second.http()}/readyz`);
    expect(readyResponse.status).toBe(503);
    expect(await readyResponse.json()).toMatchObject({ state: 'standby' });
    await progress(world, first, 'shared', 100);
    await first.kill();
    expect(await world.stored.checkpoint('shared')).toBeLessThan(world.sandbox.ledger.ledgerEnd());
    await second.logged('catching up');
    expect(await world.finish(second, 'shared')).toBe(expected);
  });

  it('stores the same rows when Postgres repeatedly ends all its connections', async () => {
    const { client } = world.stored;
    await using daemon = world.start('terminated', slowEnv);
    let endedCount = 0;
    for (let round = 0; round < 4; round += 1) {
      await progress(world, daemon, 'terminated', 50);
      const { rowCount } = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name like 'ledger-indexer%' and datname = current_database()`,
      );
      endedCount += rowCount ?? 0;
    }
    expect(endedCount).toBeGreaterThanOrEqual(8);
    expect(await world.stored.checkpoint('terminated')).toBeLessThan(world.sandbox.ledger.ledgerEnd());
    expect(await world.finish(daemon, 'terminated')).toBe(expected);
  });

  it('stores the same rows when the connection to the ledger breaks every few frames', async () => {
    world.sandbox.faults.cutEveryFrames = { min: 20, max: 160 };
    await using daemon = world.start('cut', { ...fastEnv, INDEXER_BATCH_UPDATES: '10' });
    const digest = await world.finish(daemon, 'cut').finally(() => {
      world.sandbox.faults.cutEveryFrames = undefined;
    });
    expect(digest).toBe(expected);
    expect(daemon.output().split('"disconnected"').length - 1).toBeGreaterThan(5);
  });
});
