/**
 * Tests the main promise of the product. However and whenever the daemon is killed or disconnected, in the end it
 * stores the same rows as a daemon that was never interrupted. The test uses real processes, a real database, and a
 * ledger over real sockets.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { createTestDatabase } from '../support/database.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { createWorld } from './runs/daemon-world.ts';

/**
 * Number of kills. `KILLS=50 npx vitest run test/e2e/kill.slow.test.ts` runs more; each start of the program costs one
 * second of CPU.
 */
const killTotal = Number(process.env['KILLS'] ?? 6);
/**
 * Minimum number of updates that are not stored yet when a daemon is killed while it follows. It cannot store them all
 * before the kill.
 */
const minRemaining = 1_500;

describe(`daemon killed with SIGKILL ${String(killTotal)} times`, () => {
  const seededUpdates = 700;
  const killsBySeeding = Math.ceil(killTotal / 4);

  it('stores the same rows as an uninterrupted daemon', async () => {
    // The database is not migrated, so the daemon can also be killed while it creates its tables.
    await using world = await createWorld(41, await createTestDatabase());
    const { stored, sandbox } = world;
    const random = new Random(7);
    const killsByMoment = { starting: 0, seeding: 0, following: 0 };
    world.grow(seededUpdates);

    await using reference = world.start('reference');
    await stored.reaches(reference, 'reference', sandbox.ledger.ledgerEnd());

    // Every third load is large and written by COPY on concurrent connections. The others are written by single
    // statements.
    const sizeOf = (killPhase: keyof typeof killsByMoment): number =>
      killPhase === 'following' && killsByMoment.following % 3 === 0 ? 30 : random.between(1, 6);
    // Kills the process after a random time, counted from a message that it logged.
    const killAt = async (
      killPhase: keyof typeof killsByMoment,
      message: string,
      [fromMs, toMs]: readonly [number, number],
      fact: () => Promise<unknown> = async () => undefined,
    ): Promise<void> => {
      await using daemon = world.start('killed', { INDEXER_BATCH_UPDATES: String(sizeOf(killPhase)) });
      await daemon.logged(message);
      await fact();
      await pause(random.between(fromMs, toMs));
      expect(daemon.exit()).toBeUndefined();
      await daemon.kill();
      killsByMoment[killPhase] += 1;
    };
    for (let lifeIndex = 0; lifeIndex < Math.ceil(killTotal / 16); lifeIndex += 1)
      await killAt('starting', 'starting', [0, 60]);
    let seedKillOffset = 0;
    while (killsByMoment.seeding < killsBySeeding && (await stored.checkpoint('killed')) === undefined) {
      const seededBefore = await stored.seeded('killed');
      const entries = (): Promise<number> =>
        waitFor('the seed stores entries', async () => {
          const isSeeded = await stored.seeded('killed');
          return isSeeded > 0 && isSeeded !== seededBefore ? isSeeded : undefined;
        });
      // In every other case, the kill happens after the seed has certainly stored something, however slow the machine
      // is.
      if (killsByMoment.seeding % 2 === 0) await killAt('seeding', 'seeding', [5, 60]);
      else await killAt('seeding', 'seeding', [0, 20], entries);
      if ((await stored.seeded('killed')) > 0 && (await stored.checkpoint('killed')) === undefined) seedKillOffset += 1;
    }
    // Both schemas must be seeded at the same offset, so new updates are added only now.
    await using seeder = world.start('killed');
    await stored.reaches(seeder, 'killed', sandbox.ledger.ledgerEnd());
    world.grow(2 * minRemaining);
    await seeder.kill();
    killsByMoment.following += 1;
    let followKillOffset = 0;
    while (killsByMoment.starting + killsByMoment.seeding + killsByMoment.following < killTotal) {
      // More updates are pending than the daemon can store before it is killed, whatever the speed of the machine.
      const remainingUpdates = sandbox.ledger.ledgerEnd() - ((await stored.checkpoint('killed')) ?? 0);
      if (remainingUpdates < minRemaining) world.grow(1_000);
      await killAt('following', 'catching up', [20, 250]);
      if (((await stored.checkpoint('killed')) ?? 0) < sandbox.ledger.ledgerEnd()) followKillOffset += 1;
    }

    const expected = await world.finish(reference, 'reference');
    await using last = world.start('killed');
    const digest = await world.finish(last, 'killed');
    const updates = world.updates();
    const work = `${seedKillOffset} in the middle of the seed, ${followKillOffset} in the middle of the load`;
    console.log(
      `${killTotal} SIGKILLs ${JSON.stringify(killsByMoment)}, ${work}; ${updates} updates, SHA-256 ${digest}`,
    );
    expect(digest).toBe(expected);
    // A kill of an idle daemon would test nothing.
    expect(seedKillOffset).toBeGreaterThanOrEqual(Math.floor(killsBySeeding / 2));
    expect(followKillOffset).toBe(killsByMoment.following - 1);
  }, 600_000);
});
