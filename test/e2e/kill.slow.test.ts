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
const kills = Number(process.env['KILLS'] ?? 6);
/**
 * Minimum number of updates that are not stored yet when a daemon is killed while it follows. It cannot store them all
 * before the kill.
 */
const atLeastLeft = 1_500;

describe(`daemon killed with SIGKILL ${String(kills)} times`, () => {
  const seededUpdates = 700;
  const killsBySeeding = Math.ceil(kills / 4);

  it('stores the same rows as an uninterrupted daemon', async () => {
    // The database is not migrated, so the daemon can also be killed while it creates its tables.
    await using world = await createWorld(41, await createTestDatabase());
    const { stored, sandbox } = world;
    const random = new Random(7);
    const hits = { starting: 0, seeding: 0, following: 0 };
    world.grow(seededUpdates);

    await using reference = world.start('reference');
    await stored.reaches(reference, 'reference', sandbox.ledger.ledgerEnd());

    // Every third load is large and written by COPY on concurrent connections. The others are written by single
    // statements.
    const sizeOf = (moment: keyof typeof hits): number =>
      moment === 'following' && hits.following % 3 === 0 ? 30 : random.between(1, 6);
    // Kills the process after a random time, counted from a message that it logged.
    const hit = async (
      moment: keyof typeof hits,
      message: string,
      [fromMs, toMs]: readonly [number, number],
      fact: () => Promise<unknown> = async () => undefined,
    ): Promise<void> => {
      await using daemon = world.start('killed', { INDEXER_BATCH_UPDATES: String(sizeOf(moment)) });
      await daemon.logged(message);
      await fact();
      await pause(random.between(fromMs, toMs));
      expect(daemon.exit()).toBeUndefined();
      await daemon.kill();
      hits[moment] += 1;
    };
    for (let life = 0; life < Math.ceil(kills / 16); life += 1) await hit('starting', 'starting', [0, 60]);
    let midSeed = 0;
    while (hits.seeding < killsBySeeding && (await stored.checkpoint('killed')) === undefined) {
      const before = await stored.seeded('killed');
      const entries = (): Promise<number> =>
        waitFor('the seed stores entries', async () => {
          const found = await stored.seeded('killed');
          return found > 0 && found !== before ? found : undefined;
        });
      // In every other case, the kill happens after the seed has certainly stored something, however slow the machine
      // is.
      if (hits.seeding % 2 === 0) await hit('seeding', 'seeding', [5, 60]);
      else await hit('seeding', 'seeding', [0, 20], entries);
      if ((await stored.seeded('killed')) > 0 && (await stored.checkpoint('killed')) === undefined) midSeed += 1;
    }
    // Both schemas must be seeded at the same offset, so new updates are added only now.
    await using seeder = world.start('killed');
    await stored.reaches(seeder, 'killed', sandbox.ledger.ledgerEnd());
    world.grow(2 * atLeastLeft);
    await seeder.kill();
    hits.following += 1;
    let midFollow = 0;
    while (hits.starting + hits.seeding + hits.following < kills) {
      // More updates are pending than the daemon can store before it is killed, whatever the speed of the machine.
      const left = sandbox.ledger.ledgerEnd() - ((await stored.checkpoint('killed')) ?? 0);
      if (left < atLeastLeft) world.grow(1_000);
      await hit('following', 'catching up', [20, 250]);
      if (((await stored.checkpoint('killed')) ?? 0) < sandbox.ledger.ledgerEnd()) midFollow += 1;
    }

    const expected = await world.finish(reference, 'reference');
    await using last = world.start('killed');
    const found = await world.finish(last, 'killed');
    const updates = world.updates();
    const work = `${midSeed} in the middle of the seed, ${midFollow} in the middle of the load`;
    console.log(`${kills} SIGKILLs ${JSON.stringify(hits)}, ${work}; ${updates} updates, SHA-256 ${found}`);
    expect(found).toBe(expected);
    // A kill of an idle daemon would test nothing.
    expect(midSeed).toBeGreaterThanOrEqual(Math.floor(killsBySeeding / 2));
    expect(midFollow).toBe(hits.following - 1);
  }, 600_000);
});
