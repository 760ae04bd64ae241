/**
 * Dumps a database with pg_dump while the indexer writes, and restores it with pg_restore on another server, with the
 * commands of docs/how-to/run/backup-and-restore.md. The ledger continues meanwhile. At the end, the restored index
 * equals one that was never interrupted.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { tableDigests } from '../support/digest.ts';
import { programsSkipReason } from '../support/packaged/programs.ts';
import type { PackagedServer } from '../support/packaged/server.ts';
import { needs } from '../support/skips/needs.ts';
import { waitFor } from '../support/wait-for.ts';
import { groupByContract, sortPlaces } from '../webhooks/receiver.ts';
import { rolePassword as password, runBlock, type PageRun } from './page.ts';
import { answerWith, differences, seenBy } from './readers.ts';
import { BackupWorld, database, indexerOptions } from './world.ts';

let world: BackupWorld;
let modelDatabase: TestDatabase;
let source: PackagedServer;
let restored: PackagedServer;
/** Checkpoint of the source, and deliveries, when its indexer was stopped. */
let lost: { readonly checkpoint: number; readonly deliveries: number };

function on(server: PackagedServer, role: string): PageRun {
  const env = { ...world.env(server, role), POSTGRES_MIGRATE: 'never' };
  return { folder: world.folder, server, databaseUrl: server.url(database, role, password), env };
}

beforeAll(async () => {
  if (programsSkipReason !== undefined) return;
  [world, modelDatabase] = [await BackupWorld.open(), await createTestDatabase()];
  source = await world.emptyServer('source');
  await world.prepare(source);
  await using daemon = world.follow(source);
  await world.caughtUp(source, daemon);
  await world.delivered(source);
  await world.command(source, 'ledger_migrator', 'views', 'rebuild');
  const growth = setInterval(() => world.grow(2), 20);
  try {
    await runBlock('pg_dumpall --roles-only --file', on(source, 'ledger_writer'));
  } finally {
    clearInterval(growth);
  }
  world.grow(60);
  await world.caughtUp(source, daemon);
  await world.delivered(source);
  await world.finish(daemon);
  lost = { checkpoint: await world.checkpoint(source), deliveries: world.receiver.taken.length };
  world.grow(40);
  restored = await world.emptyServer('restored');
  await runBlock('ROLE postgres[; ]', on(restored, 'ledger_writer'));
});
afterAll(async () => {
  if (programsSkipReason !== undefined) return;
  await world[Symbol.asyncDispose]();
  await modelDatabase.drop();
});

describe('a dump of a running indexer, restored on another server', needs(programsSkipReason), () => {
  it('has the checkpoint of the dump, and check finds all roles, rights and settings', async () => {
    const checkpoint = await world.checkpoint(restored);
    expect(checkpoint).toBeGreaterThan(0);
    expect(checkpoint).toBeLessThan(lost.checkpoint);
    expect(await runBlock('ledger-indexer check', on(restored, 'ledger_writer'))).toContain('nothing failed');
    const { checks } = JSON.parse(await world.command(restored, 'ledger_writer', 'check', '--json')) as {
      readonly checks: readonly { readonly name: string; readonly state: string }[];
    };
    const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]));
    expect(states).toMatchObject({
      'rights to write': 'pass',
      'rights of roles': 'pass',
      'reader settings': 'pass',
      'advisory locks': 'pass',
      'large objects': 'pass',
      'reader connections': 'pass',
      'temporary files': 'pass',
    });
  });

  it('is continued to the same rows as an index that was never interrupted, and verify is equal', async () => {
    await using daemon = world.follow(restored);
    await world.caughtUp(restored, daemon);
    const statement = 'select count(*)::int as events from explore.events';
    const answer = await answerWith(await daemon.http(), world, statement);
    expect(JSON.stringify(answer)).toContain(String((await world.events(restored)).length));
    const output = await runBlock('verify --projections', on(restored, 'ledger_writer'));
    expect(output.match(/^ {2}"outcome": "\w+"/gm)).toEqual(['  "outcome": "equal"', '  "outcome": "equal"']);
    await world.delivered(restored);
    await world.finish(daemon);
    await using model = await runIndexer({
      ...world.env(restored),
      DATABASE_URL: modelDatabase.url,
      INDEXER_HTTP_PORT: '0',
    });
    await model.reaches(world.end(), 60_000);
    await waitFor('the model is live', async () => ((await model.status()).state === 'live' ? true : undefined));
    expect(await tableDigests(restored.url(database), 'ledger')).toEqual(
      await tableDigests(modelDatabase.url, 'ledger'),
    );
  });

  it('delivers the events after the dump again, with the same ids, and no event is lost', async () => {
    const events = await world.events(restored);
    const { taken, forged } = world.receiver;
    expect(forged).toEqual([]);
    expect(sortPlaces([...new Set(taken.map(({ place }) => place))])).toEqual(events);
    expect(taken.length - lost.deliveries).toBeGreaterThan(events.length - lost.deliveries);
    const pairs = new Set(taken.map(({ id, place }) => `${id} ${place}`));
    expect(pairs.size).toBe(events.length);
    expect(new Set(taken.map(({ id }) => id)).size).toBe(events.length);
    const later = taken.slice(lost.deliveries);
    for (const found of groupByContract(later).values()) expect(found).toEqual(sortPlaces(found));
    expect(await query(restored.url(database), 'select from ledger.webhook_dead_letters')).toEqual([]);
  });

  it('lets every reader see the same relations, rows and settings as the source', async () => {
    await using daemon = world.follow(source, 'none');
    await world.caughtUp(source, daemon);
    await world.finish(daemon);
    const [expected, found] = [await seenBy(source, world.token), await seenBy(restored, world.token)];
    expect(differences(expected, found)).toEqual([]);
    expect(expected['wallet']?.['explore.contracts']?.length).toBeGreaterThan(0);
    expect(expected['wallet']?.['explore.contracts']?.length).toBeLessThan(
      expected['analyst']?.['explore.contracts']?.length ?? 0,
    );
    expect(found['analyst']?.['derived.created']?.length).toBeGreaterThan(0);
    const label = `select explore.party_label('${world.party}') as label`;
    expect(await query(restored.url(database, 'analyst', password), label)).toEqual([{ label: 'Alice Ltd' }]);
  });
});

describe('a dump that is older than the pruned offset of the participant', needs(programsSkipReason), () => {
  it('parks, check names the cause, and reseed continues with a recorded gap', async () => {
    await world.stop(restored);
    const pruned = world.end() - 10;
    world.sandbox.ledger.pruneTo(pruned);
    const server = await world.emptyServer('late');
    await runBlock('ROLE postgres[; ]', on(server, 'ledger_writer'));
    const checkpoint = await world.checkpoint(server);
    await using daemon = world.follow(server);
    await waitFor('the indexer parks', () => (daemon.output().includes('LEDGER_PRUNED') ? true : undefined));
    await expect(runBlock('ledger-indexer check', on(server, 'ledger_writer'))).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/stored history .*past the checkpoint[^]*reseed --yes/) as unknown,
    });
    expect(await world.checkpoint(server)).toBe(checkpoint);
    await runBlock('reseed --yes', on(server, 'ledger_migrator'));
    world.grow(20);
    await world.caughtUp(server, daemon);
    await world.delivered(server);
    const gap = `select from_offset::int as "from", to_offset::int as "to" from explore.coverage where status = 'gap'`;
    expect(await query(server.url(database), gap)).toEqual([{ from: checkpoint, to: pruned }]);
    const active = 'select contract_id as id from explore.active_contracts order by 1';
    await using model = await runIndexer({
      ...indexerOptions,
      LEDGER_URL: world.sandbox.url,
      DATABASE_URL: modelDatabase.url,
    });
    await model.reaches(world.end(), 20_000).catch((error: unknown) => {
      throw new Error(model.log.slice(-5).join(''), { cause: error });
    });
    expect(await query(server.url(database), active)).toEqual(await query(modelDatabase.url, active));
    await world.finish(daemon);
  });
});
