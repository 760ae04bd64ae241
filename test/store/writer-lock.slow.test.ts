/** The writer lock has one holder. It is released in time and when its connection ends, and never blocks a process. */
import { describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { WriterCandidate } from '../../src/store/lock/writer-lock.ts';
import { openRoad } from '../ha/road.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { pause } from '../support/wait-for.ts';

const leaseMs = 1_000;

function open(url: string): AsyncDisposable & { readonly database: Database; readonly candidate: WriterCandidate } {
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 5_000, applicationName: 'test' });
  const candidate = new WriterCandidate(database, leaseMs);
  const close = async (): Promise<void> => {
    await candidate.close();
    await database.close();
  };
  return { database, candidate, [Symbol.asyncDispose]: close };
}

describe('writer lock', () => {
  it('belongs to one session at a time, and is free after its release', async () => {
    await using created = await createTestDatabase();
    await using one = open(created.url);
    await using other = open(created.url);
    const first = await one.candidate.tryLock();
    expect(first).toBeDefined();
    expect(await other.candidate.tryLock()).toBeUndefined();
    one.candidate.assertHeld();
    expect(() => other.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
    await first?.release();
    expect(() => one.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
    expect(await other.candidate.tryLock()).toBeDefined();
  });

  it('uses one connection per session, for any number of attempts and longer than a lease', async () => {
    await using created = await createTestDatabase();
    await using one = open(created.url);
    await using other = open(created.url);
    await one.candidate.tryLock();
    for (let attempt = 0; attempt < 12; attempt += 1) {
      expect(await other.candidate.tryLock()).toBeUndefined();
      await pause(leaseMs / 4);
    }
    one.candidate.assertHeld();
    const sessions = `select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name = 'ledger-indexer lock'`;
    expect(await query(created.url, sessions)).toEqual([{ n: 2 }]);
  });

  it('is lost when its database session ends', async () => {
    await using created = await createTestDatabase();
    await using one = open(created.url);
    const lock = await one.candidate.tryLock();
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'ledger-indexer lock'`;
    await Promise.all([
      expect(lock?.lost).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', retry: 'retry' }),
      query(created.url, end),
    ]);
    expect(() => one.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
  });

  it('is released within the lease if its session is disconnected', async () => {
    await using created = await createTestDatabase();
    await using road = await openRoad(created.url);
    await using one = open(road.url);
    await using other = open(created.url);
    const lock = await one.candidate.tryLock();
    road.freeze();
    const lost = expect(lock?.lost).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) as string });
    while ((await other.candidate.tryLock()) === undefined) await pause(20);
    expect(() => one.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
    await lost;
  });

  it('can be released even if Postgres does not respond', async () => {
    await using created = await createTestDatabase();
    await using road = await openRoad(created.url);
    await using one = open(road.url);
    const lock = await one.candidate.tryLock();
    expect(lock).toBeDefined();
    road.freeze();
    await lock?.release();
  });
});
