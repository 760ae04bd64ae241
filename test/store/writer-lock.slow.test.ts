/** The writer lock has one holder. It is released in time and when its connection ends, and never blocks a process. */
import { describe, expect, it } from 'vitest';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { WriterCandidate } from '../../src/store/lock/writer-lock.ts';
import { openRoute } from '../ha/road.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { pause } from '../support/wait-for.ts';

const leaseMs = 1_000;

function openCandidate(
  url: string,
): AsyncDisposable & { readonly database: Database; readonly candidate: WriterCandidate } {
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
    await using testDatabase = await createTestDatabase();
    await using firstProcess = openCandidate(testDatabase.url);
    await using otherProcess = openCandidate(testDatabase.url);
    const first = await firstProcess.candidate.tryLock();
    expect(first).toBeDefined();
    expect(await otherProcess.candidate.tryLock()).toBeUndefined();
    firstProcess.candidate.assertHeld();
    expect(() => otherProcess.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
    await first?.release();
    expect(() => firstProcess.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
    expect(await otherProcess.candidate.tryLock()).toBeDefined();
  });

  it('uses one connection per session, for any number of attempts and longer than a lease', async () => {
    await using testDatabase = await createTestDatabase();
    await using firstProcess = openCandidate(testDatabase.url);
    await using otherProcess = openCandidate(testDatabase.url);
    await firstProcess.candidate.tryLock();
    for (let attempt = 0; attempt < 12; attempt += 1) {
      expect(await otherProcess.candidate.tryLock()).toBeUndefined();
      await pause(leaseMs / 4);
    }
    firstProcess.candidate.assertHeld();
    const sessions = `select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name = 'ledger-indexer lock'`;
    expect(await query(testDatabase.url, sessions)).toEqual([{ n: 2 }]);
  });

  it('is lost when its database session ends', async () => {
    await using testDatabase = await createTestDatabase();
    await using firstProcess = openCandidate(testDatabase.url);
    const lock = await firstProcess.candidate.tryLock();
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'ledger-indexer lock'`;
    await Promise.all([
      expect(lock?.lost).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', retry: 'retry' }),
      query(testDatabase.url, end),
    ]);
    expect(() => firstProcess.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
  });

  it('is released within the lease if its session is disconnected', async () => {
    await using testDatabase = await createTestDatabase();
    await using connectionRoute = await openRoute(testDatabase.url);
    await using firstProcess = openCandidate(connectionRoute.url);
    await using otherProcess = openCandidate(testDatabase.url);
    const lock = await firstProcess.candidate.tryLock();
    connectionRoute.freeze();
    const lostExpectation = expect(lock?.lost).rejects.toMatchObject({
      code: expect.stringMatching(/^STORE_/) as string,
    });
    while ((await otherProcess.candidate.tryLock()) === undefined) await pause(20);
    expect(() => firstProcess.candidate.assertHeld()).toThrow(expect.objectContaining({ code: 'STORE_LOCK_LOST' }));
    await lostExpectation;
  });

  it('can be released even if Postgres does not respond', async () => {
    await using testDatabase = await createTestDatabase();
    await using connectionRoute = await openRoute(testDatabase.url);
    await using firstProcess = openCandidate(connectionRoute.url);
    const lock = await firstProcess.candidate.tryLock();
    expect(lock).toBeDefined();
    connectionRoute.freeze();
    await lock?.release();
  });
});
