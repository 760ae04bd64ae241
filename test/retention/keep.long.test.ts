/** With INDEXER_RETENTION, the indexer prunes old history while it runs, up to the oldest hold. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdCommand } from '../../src/cli/maintain/hold.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { createRetentionWorld, retainedFacts, type RetentionWorld } from './retention-world.ts';

let world: RetentionWorld;
beforeAll(async () => {
  world = await createRetentionWorld(29, 800);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

// Updates are recorded one second apart, months before the system time of the test.
const keep = { INDEXER_RETENTION: '5m', INDEXER_RETENTION_INTERVAL: '200ms' };

async function listHolds(schema: string, ...args: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  const env = { DATABASE_URL: world.url, POSTGRES_SCHEMA: schema };
  await runCommand(holdCommand, args, env, { print: (line) => lines.push(line) });
  return lines;
}

async function prunedToOffset(schema: string): Promise<number> {
  const [row] = await world.query<{ kept: string | null }>(`select pruned_to_offset as kept from ${schema}.stream`);
  return Number(row?.kept ?? 0);
}

/** The last offset whose record time is more than five minutes older than the newest record time. */
async function countTooOld(schema: string): Promise<number> {
  const [row] = await world.query<{ last: string }>(
    `select min("offset") - 1 as last from ${schema}.updates
      where record_time >= (select max(record_time) from ${schema}.updates) - interval '5 minutes'`,
  );
  return Number(row?.last);
}

/** Resolves when history begins at the expected offset. */
function waitUntilPruned(schema: string, offset: number): Promise<true> {
  return waitFor(`history of ${schema} begins after ${String(offset)}`, async () =>
    (await prunedToOffset(schema)) === offset ? true : undefined,
  );
}

describe('history older than INDEXER_RETENTION', () => {
  it('is pruned while the stream continues', async () => {
    await using indexer = await world.index('kept', keep);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd(), 60_000);
    const first = await countTooOld('kept');
    expect(first).toBeGreaterThan(400);
    await waitUntilPruned('kept', first);
    world.grow(120);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd(), 60_000);
    const boundary = await countTooOld('kept');
    expect(boundary).toBeGreaterThan(first);
    await waitUntilPruned('kept', boundary);
    await waitFor('all of it is gone', async () => {
      const rows = await world.query(`select from kept.exercises where "offset" <= $1 limit 1`, [boundary]);
      return rows.length === 0 ? true : undefined;
    });
    const { retention } = await indexer.status();
    expect(retention).toMatchObject({ boundary, heldBy: null });
    expect(indexer.logged('backing off')).toBe(0);
    await world.fill('whole');
    expect(await retainedFacts(world, 'kept', boundary)).toEqual(await retainedFacts(world, 'whole', boundary));
  }, 120_000);

  it('is kept until its hold is released', async () => {
    await world.fill('held');
    expect(await listHolds('held', 'place', 'replica-2', '--after', '40', '--reason', 'copy')).toEqual([
      'replica-2 holds history after offset 40',
    ]);
    const boundary = await countTooOld('held');
    await using indexer = await world.index('held', keep);
    await waitUntilPruned('held', 40);
    await waitFor('the hold is reported', () =>
      indexer.logged('a hold keeps history from being pruned as far as INDEXER_RETENTION requires') === 1
        ? true
        : undefined,
    );
    expect((await indexer.status()).retention).toMatchObject({
      boundary: 40,
      heldBy: { name: 'replica-2', offset: 40 },
    });
    expect(await world.prune('held', '--before', '60', '--yes')).toMatchObject({
      boundary: 40,
      heldBy: { offset: 40 },
    });
    const lines: string[] = [];
    const env = { DATABASE_URL: world.url, POSTGRES_SCHEMA: 'held' };
    await runCommand(pruneCommand, ['--before', '60'], env, { print: (line) => lines.push(line) });
    expect(lines).toContainEqual(
      expect.stringMatching(/^limited, because hold replica-2 keeps history after offset 40 since 20/u),
    );
    const refusal = `select held_pqs.prune_to_offset(60)`;
    await expect(world.query(refusal)).rejects.toThrow('History after offset 40 is held by replica-2');
    await expect(listHolds('held', 'place', 'late', '--after', '39')).rejects.toMatchObject({ code: 'HOLD_REFUSED' });
    expect(await listHolds('held', 'list')).toEqual([
      expect.stringMatching(/^replica-2 {2}after 40 {2}since .* {2}copy$/u),
    ]);
    await listHolds('held', 'release', 'replica-2');
    await waitUntilPruned('held', boundary);
    await expect(listHolds('held', 'release', 'replica-2')).rejects.toMatchObject({ code: 'HOLD_NOT_FOUND' });
  }, 120_000);

  it('is kept with a log message if the role may not delete rows', async () => {
    await world.fill('narrow');
    const role = `narrow_${String(process.pid)}`;
    await world.query(`create role ${role} login password 'w'`);
    try {
      await world.query(`grant usage on schema narrow, narrow_pqs to ${role};
        grant select, insert, update on all tables in schema narrow to ${role};
        grant delete on narrow.live to ${role};
        grant execute on all functions in schema narrow, narrow_pqs to ${role}`);
      const url = new URL(world.url);
      url.username = role;
      url.password = 'w';
      await using indexer = await world.index('narrow', { ...keep, DATABASE_URL: url.href, POSTGRES_MIGRATE: 'never' });
      await waitFor('the refusal is reported', () =>
        indexer.logged('old history could not be pruned, trying again') > 0 ? true : undefined,
      );
      world.grow(20);
      await indexer.reaches(world.sandbox.ledger.ledgerEnd(), 60_000);
      expect(indexer.logged('parked: an operator is needed')).toBe(0);
    } finally {
      await world.query(`drop owned by ${role}; drop role ${role}`);
    }
  }, 120_000);
});
