/**
 * A rolling upgrade by real processes: indexers of the current build write while the newer build migrates as a standby,
 * and then takes over. The tables have to be those of an undisturbed indexer of the newer build.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { watchStored, type StoredStream } from '../e2e/runs/stored.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { createNewerBuild, type NewerBuild } from './newer-build.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

let newer: NewerBuild;
let sandbox: Sandbox;
let database: TestDatabase;
let stored: StoredStream;
let grow: (updates: number) => void;
let daemons: Daemon[];
beforeEach(async () => {
  newer = createNewerBuild();
  sandbox = await startSandbox({ seed: 12, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
  const steps = new Steps(sandbox.ledger, 12);
  let updates = 0;
  grow = (count) => {
    for (const end = updates + count; updates < end; updates += 1) steps.step(startAt + updates * 1_000_000);
  };
  database = await createMigratedDatabase(['ledger', 'calm']);
  stored = await watchStored(database.url);
  daemons = [];
});
afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.kill()));
  await stored[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
  newer[Symbol.dispose]();
});

function start(build: 'current' | 'newer', { schema = 'ledger', argv = [] as readonly string[] } = {}): Daemon {
  const daemon = startDaemon({
    ledgerUrl: sandbox.url,
    databaseUrl: database.url,
    schema,
    argv,
    env: { INDEXER_LEASE: '2s', INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '10' },
    ...(build === 'newer' ? { program: newer.program } : {}),
  });
  daemons.push(daemon);
  return daemon;
}

/** Appends updates until the condition holds, so that the writer is never idle. */
async function growUntil(subject: string, condition: () => Promise<boolean>): Promise<void> {
  await waitFor(subject, async () => {
    grow(5);
    return (await condition()) ? true : undefined;
  });
}

async function isMigrated(): Promise<boolean> {
  const rows = await query(database.url, `select id from ledger.schema_migrations where id = '${newer.migration}'`);
  return rows.length === 1;
}

async function epoch(): Promise<number> {
  const [row] = await query(database.url, 'select epoch::int as epoch from ledger.stream');
  return Number(row?.['epoch']);
}

/** Compares all tables with those of an indexer of the newer build that stored the same history undisturbed. */
async function expectSameRows(writer: Daemon): Promise<void> {
  await stored.reaches(writer, 'ledger', sandbox.ledger.ledgerEnd());
  const calm = start('newer', { schema: 'calm' });
  await stored.reaches(calm, 'calm', sandbox.ledger.ledgerEnd());
  // Its rows are of the time of the upgrade, and the undisturbed schema was upgraded while it was empty.
  await query(database.url, 'delete from ledger.update_totals');
  expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'calm'));
}

describe('a rolling upgrade', () => {
  it('migrates while the previous version writes, and takes over when it is stopped', async () => {
    grow(200);
    const previous = start('current');
    await stored.reaches(previous, 'ledger', sandbox.ledger.ledgerEnd());
    const firstEpoch = await epoch();
    const next = start('newer');
    await growUntil('the standby has migrated', isMigrated);
    // The previous version stores what follows, in the same session.
    await growUntil('the standby waits', async () => next.output().includes('"msg":"standby"'));
    grow(50);
    await stored.reaches(previous, 'ledger', sandbox.ledger.ledgerEnd());
    expect(await epoch()).toBe(firstEpoch);
    grow(50);
    previous.signal('SIGTERM');
    await growUntil('the newer version writes', async () => (await epoch()) > firstEpoch);
    expect(await previous.exited).toEqual({ code: 0, signal: null });
    await expectSameRows(next);
  });

  it('ends a writer of the previous version that has to begin a new session', async () => {
    grow(100);
    const previous = start('current');
    await stored.reaches(previous, 'ledger', sandbox.ledger.ledgerEnd());
    const next = start('newer');
    await growUntil('the standby has migrated', isMigrated);
    await next.logged('standby');
    await query(
      database.url,
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`,
    );
    grow(50);
    await stored.reaches(next, 'ledger', sandbox.ledger.ledgerEnd());
    await expectSameRows(next);
  });

  it('does not let a standby of the previous version take over', async () => {
    grow(100);
    const writer = start('current');
    await stored.reaches(writer, 'ledger', sandbox.ledger.ledgerEnd());
    const standby = start('current');
    await standby.logged('standby');
    const command = start('newer', { argv: ['migrate'] });
    expect(await command.exited).toEqual({ code: 0, signal: null });
    grow(50);
    await stored.reaches(writer, 'ledger', sandbox.ledger.ledgerEnd());
    const [stopped, lastEpoch] = [await stored.checkpoint('ledger'), await epoch()];
    await writer.kill();
    grow(50);
    expect(await standby.exited).toEqual({ code: 78, signal: null });
    expect(standby.output()).toContain('SCHEMA_NEWER');
    expect([await stored.checkpoint('ledger'), await epoch()]).toEqual([stopped, lastEpoch]);
    await expectSameRows(start('newer'));
  });
});
