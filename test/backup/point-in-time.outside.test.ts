/**
 * Restores a base backup and the archived write-ahead log to a named point and to a time, with the commands of
 * docs/how-to/run/backup-and-restore.md. The base backup is made while the indexer writes. Afterwards the indexer and
 * the ledger continue, and the server fails. The restored index then continues to the same rows as one that was never
 * interrupted.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { changeOwner, chooseAccount } from '../../packages/embedded-postgres/src/account.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { tableDigests } from '../support/digest.ts';
import { programsSkipReason } from '../support/packaged/programs.ts';
import type { PackagedServer } from '../support/packaged/server.ts';
import { needs } from '../support/skips/needs.ts';
import { waitFor } from '../support/wait-for.ts';
import { sortPlaces } from '../webhooks/receiver.ts';
import { documentedSettings, rolePassword as password, runBlock, type PageRun } from './page.ts';
import { differences, seenBy, type Seen } from './readers.ts';
import { BackupWorld, database } from './world.ts';

let world: BackupWorld;
let modelDatabase: TestDatabase;
/** The source when the point was named. */
let atPoint: { readonly checkpoint: number; readonly time: string; readonly seen: Seen; readonly events: number };
let lastCheckpoint: number;

function on(server: PackagedServer): PageRun {
  const env = { ...world.env(server, 'ledger_writer'), POSTGRES_MIGRATE: 'never' };
  return { folder: world.folder, server, databaseUrl: server.url(database, 'ledger_writer', password), env };
}

/** Commands that only copy and change files. */
function filesOnly(): PageRun {
  return { folder: world.folder, server: undefined, databaseUrl: '', env: {} };
}

async function archived(server: PackagedServer): Promise<void> {
  const [row] = await query(server.url('postgres'), 'select pg_walfile_name(pg_switch_wal()) as name');
  const name = String(row?.['name']);
  await waitFor('the log is archived', () =>
    readdirSync(join(world.folder, 'wal')).includes(name) ? true : undefined,
  );
}

beforeAll(async () => {
  if (programsSkipReason !== undefined) return;
  [world, modelDatabase] = [await BackupWorld.open(), await createTestDatabase()];
  mkdirSync(join(world.folder, 'wal'));
  await changeOwner(chooseAccount(), join(world.folder, 'wal'));
  const settings = documentedSettings('archive_mode = on', world.folder);
  const source = await world.emptyServer('source', settings);
  await world.prepare(source);
  await using daemon = world.follow(source);
  await world.caughtUp(source, daemon);
  const growth = setInterval(() => world.grow(2), 20);
  try {
    await runBlock('pg_basebackup', on(source));
  } finally {
    clearInterval(growth);
  }
  world.grow(30);
  await world.caughtUp(source, daemon);
  await world.delivered(source);
  await runBlock('pg_create_restore_point', on(source));
  const [row] = await query(source.url('postgres'), 'select clock_timestamp()::text as time');
  const [checkpoint, seen] = [await world.checkpoint(source), await seenBy(source, world.token)];
  atPoint = { checkpoint, seen, time: String(row?.['time']), events: world.receiver.taken.length };
  world.grow(60);
  await world.caughtUp(source, daemon);
  await world.delivered(source);
  lastCheckpoint = await world.checkpoint(source);
  await archived(source);
  await daemon.kill();
  await source.crash();
  world.grow(20);
});
afterEach(() => {
  rmSync(join(world.folder, 'restored'), { recursive: true, force: true });
});
afterAll(async () => {
  if (programsSkipReason !== undefined) return;
  await world[Symbol.asyncDispose]();
  await modelDatabase.drop();
});

describe('a base backup with archived log', needs(programsSkipReason), () => {
  it.each(['recovery_target_name', 'recovery_target_time'])(
    'is restored to %s, and the indexer continues without a gap or a duplicate',
    async (target) => {
      // The page has the name; the time replaces it.
      const line = "recovery_target_name = 'before_change'";
      const change = target === 'recovery_target_time' ? `recovery_target_time = '${atPoint.time}'` : line;
      await runBlock('recovery.signal', filesOnly(), [line, change]);
      const server = await world.start('restored');
      expect(await world.checkpoint(server)).toBe(atPoint.checkpoint);
      expect(atPoint.checkpoint).toBeLessThan(lastCheckpoint);
      expect(differences(atPoint.seen, await seenBy(server, world.token))).toEqual([]);
      expect(await runBlock('ledger-indexer check', on(server))).toContain('nothing failed');
      const before = world.receiver.taken.length;
      await using daemon = world.follow(server);
      await world.caughtUp(server, daemon);
      const output = await runBlock('verify --projections', on(server));
      expect(output.match(/^ {2}"outcome": "\w+"/gm)).toEqual(['  "outcome": "equal"', '  "outcome": "equal"']);
      await world.delivered(server);
      const events = await world.events(server);
      const resent = world.receiver.taken.slice(before);
      // Everything after the restored position is delivered again.
      expect(resent.length).toBeGreaterThanOrEqual(events.length - atPoint.events);
      expect(new Set(world.receiver.taken.map(({ id, place }) => `${id} ${place}`)).size).toBe(events.length);
      expect(sortPlaces([...new Set(world.receiver.taken.map(({ place }) => place))])).toEqual(events);
      await world.finish(daemon);
      await using model = await runIndexer({
        ...world.env(server),
        DATABASE_URL: modelDatabase.url,
        INDEXER_HTTP_PORT: '0',
      });
      await model.reaches(world.end(), 60_000);
      await waitFor('the model is live', async () => ((await model.status()).state === 'live' ? true : undefined));
      expect(await tableDigests(server.url(database), 'ledger')).toEqual(
        await tableDigests(modelDatabase.url, 'ledger'),
      );
      await world.stop(server);
    },
  );

  it('does not start without the log of its target', async () => {
    await runBlock('recovery.signal', filesOnly());
    for (const name of readdirSync(join(world.folder, 'wal')).slice(-1)) rmSync(join(world.folder, 'wal', name));
    await expect(world.start('restored')).rejects.toThrow(
      /recovery ended before configured recovery target was reached/,
    );
  });
});
