/**
 * The promise of the product under violence: whatever ends or cuts the daemon, and whenever, what is stored in the end
 * is what a daemon stores that nobody disturbed. Real processes, a real database, a ledger over real sockets.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { assertBuilt, startDaemon, type Daemon } from './runs/daemon.ts';
import { watchStored, type Stored } from './runs/stored.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;
const secondMicros = 1_000_000;
/** Longer than the time within which the daemon takes a second signal for an echo of the first. */
const echoMs = 1_000;

interface World extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly stored: Stored;
  /** Appends updates; the same calls give the same history. */
  grow(updates: number): void;
  /** How many it has appended. */
  updates(): number;
  start(schema: string, env?: Readonly<Record<string, string>>): Daemon;
  /** Stops it as an operator does, once everything is stored, and gives back what is stored. */
  finish(daemon: Daemon, schema: string): Promise<string>;
}

async function createWorld(seed: number, database: TestDatabase): Promise<World> {
  assertBuilt();
  const sandbox = await startSandbox({ seed, now: () => startAt / 1000 });
  const stored = await watchStored(database.url);
  const steps = new Steps(sandbox.ledger, seed);
  let made = 0;
  return {
    sandbox,
    database,
    stored,
    grow: (updates) => {
      for (const end = made + updates; made < end; made += 1) steps.step(startAt + made * secondMicros);
    },
    updates: () => made,
    start: (schema, env) => startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema, env: env ?? {} }),
    finish: async (daemon, schema) => {
      await stored.reaches(daemon, schema, sandbox.ledger.ledgerEnd());
      daemon.signal('SIGTERM');
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
      return digestOf(database.url, schema);
    },
    [Symbol.asyncDispose]: async () => {
      await stored[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
    },
  };
}

/** Waits until that many more offsets are stored than now. */
async function progress(world: World, daemon: Daemon, schema: string, offsets: number): Promise<number> {
  const from = (await world.stored.checkpoint(schema)) ?? 0;
  return world.stored.reaches(daemon, schema, from + offsets);
}

/** `KILLS=50 npx vitest run test/e2e/kill.slow.test.ts` does more; a start of the program costs a second of CPU. */
const kills = Number(process.env['KILLS'] ?? 12);
/** At least this much is left to store when a daemon is killed while it follows: more than one life can store. */
const atLeastLeft = 1_500;

describe(`a daemon killed with SIGKILL ${String(kills)} times`, () => {
  const seededUpdates = 700;
  const killsBySeeding = Math.ceil(kills / 4);

  it('stores what an uninterrupted one stores, killed while starting, seeding and following', async () => {
    // Killed while it makes its tables as well.
    await using world = await createWorld(41, await createTestDatabase());
    const { stored, sandbox } = world;
    const random = new Random(7);
    const hits = { starting: 0, seeding: 0, following: 0 };
    world.grow(seededUpdates);

    await using reference = world.start('reference');
    await stored.reaches(reference, 'reference', sandbox.ledger.ledgerEnd());

    // Every third load is written by COPY on lanes side by side, the others by single statements.
    const sizeOf = (moment: keyof typeof hits): number =>
      moment === 'following' && hits.following % 3 === 0 ? 30 : random.between(1, 6);
    // The process is hit after a time nobody chose, counted from a fact that it reported.
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
      // Every other one is hit where the seed has surely begun to store, however slow the machine is.
      if (hits.seeding % 2 === 0) await hit('seeding', 'seeding', [5, 60]);
      else await hit('seeding', 'seeding', [0, 20], entries);
      if ((await stored.seeded('killed')) > 0 && (await stored.checkpoint('killed')) === undefined) midSeed += 1;
    }
    // The offset of the seed has to be the same in both schemas, so the ledger moves on only now.
    await using seeder = world.start('killed');
    await stored.reaches(seeder, 'killed', sandbox.ledger.ledgerEnd());
    world.grow(2 * atLeastLeft);
    await seeder.kill();
    hits.following += 1;
    let midFollow = 0;
    while (hits.starting + hits.seeding + hits.following < kills) {
      // Whatever the speed of the machine, there is more to do than one life can.
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
    // A kill of an idle daemon proves nothing.
    expect(midSeed).toBeGreaterThanOrEqual(Math.floor(killsBySeeding / 2));
    expect(midFollow).toBe(hits.following - 1);
  }, 600_000);
});

describe('a daemon disturbed while it loads', () => {
  const fast = { INDEXER_START: 'genesis' };
  /** Until the disturbance is over; what is left then is stored in large batches. */
  const slow = { ...fast, INDEXER_BATCH_UPDATES: '3' };
  let world: World;
  let expected: string;

  beforeAll(async () => {
    const schemas = ['reference', 'stopped', 'insisted', 'shared', 'terminated', 'cut'];
    world = await createWorld(43, await createMigratedDatabase(schemas));
    world.grow(1_200);
    await using reference = world.start('reference', fast);
    expected = await world.finish(reference, 'reference');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('ends with 0 on SIGTERM, and the next one goes on right after its checkpoint', async () => {
    const { stored } = world;
    await using first = world.start('stopped', slow);
    await progress(world, first, 'stopped', 200);
    first.signal('SIGTERM');
    expect(await first.exited).toEqual({ code: 0, signal: null });
    const checkpoint = (await stored.checkpoint('stopped')) ?? 0;
    expect(checkpoint).toBeLessThan(world.sandbox.ledger.ledgerEnd());

    await using second = world.start('stopped', fast);
    expect(await world.finish(second, 'stopped')).toBe(expected);
    const { rows } = await stored.client.query<{ first: string; gap: string }>(
      `select min("offset") filter (where epoch = 2) as first,
              (select min("offset") from reference.updates where "offset" > $1) as gap from stopped.plain_updates`,
      [checkpoint],
    );
    expect(rows[0]?.first).toBe(rows[0]?.gap);
  });

  it('ends at once on a later second SIGTERM, even while Postgres lets it wait, and loses nothing', async () => {
    const { client } = world.stored;
    await using first = world.start('insisted', slow);
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
      // Signals in quick succession are one signal that came twice; insisting takes a moment longer.
      await pause(echoMs);
      expect(first.exit()).toBeUndefined();
      first.signal('SIGTERM');
      expect(await first.exited).toEqual({ code: 75, signal: null });
    } finally {
      await client.query('rollback');
    }
    await using second = world.start('insisted', fast);
    expect(await world.finish(second, 'insisted')).toBe(expected);
  });

  it('is replaced by a waiting second daemon when it is killed', async () => {
    await using first = world.start('shared', slow);
    await progress(world, first, 'shared', 100);
    await using second = world.start('shared', fast);
    await second.logged('standby');
    const ready = await fetch(`${await second.http()}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ state: 'standby' });
    await progress(world, first, 'shared', 100);
    await first.kill();
    expect(await world.stored.checkpoint('shared')).toBeLessThan(world.sandbox.ledger.ledgerEnd());
    await second.logged('catching up');
    expect(await world.finish(second, 'shared')).toBe(expected);
  });

  it('stores the same when Postgres ends all its connections again and again', async () => {
    const { client } = world.stored;
    await using daemon = world.start('terminated', slow);
    let ended = 0;
    for (let round = 0; round < 4; round += 1) {
      await progress(world, daemon, 'terminated', 50);
      const { rowCount } = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name like 'ledger-indexer%' and datname = current_database()`,
      );
      ended += rowCount ?? 0;
    }
    expect(ended).toBeGreaterThanOrEqual(8);
    expect(await world.stored.checkpoint('terminated')).toBeLessThan(world.sandbox.ledger.ledgerEnd());
    expect(await world.finish(daemon, 'terminated')).toBe(expected);
  });

  it('stores the same when the socket to the ledger is cut every few hundred frames', async () => {
    world.sandbox.faults.cutEveryFrames = { min: 20, max: 160 };
    await using daemon = world.start('cut', { ...fast, INDEXER_BATCH_UPDATES: '10' });
    const found = await world.finish(daemon, 'cut').finally(() => {
      world.sandbox.faults.cutEveryFrames = undefined;
    });
    expect(found).toBe(expected);
    expect(daemon.output().split('"disconnected"').length - 1).toBeGreaterThan(5);
  });
});
