/**
 * Completions are only stored by the current writer of the stream. A replaced writer stores none, and a new writer
 * waits for running writes.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import { decodeUpdate } from '../support/wire/decode.ts';
import { decodeCompletion } from '../../src/ledger/frames/decode-completion.ts';
import type { Completion } from '../../src/model/update.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { pause, waitFor } from '../support/wait-for.ts';

const identity = { participantId: 'p::1220', filter: '{}', filterHash: 'f', shape: 'LEDGER_EFFECTS' } as const;

let testDatabase: TestDatabase;
let database: Database;
let client: Client;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  await migrate(database);
  client = new Client({ connectionString: testDatabase.url });
  await client.connect();
  await client.query('set search_path = ledger');
});
afterEach(async () => {
  await client.end();
  await database.close();
  await testDatabase.drop();
});

/** Opens a session of a stream whose checkpoint is `offset`. */
async function streamAt(offset: number): Promise<StoreSession> {
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  await follow(session, 0, offset);
  return session;
}

async function follow(session: StoreSession, from: number, to: number): Promise<void> {
  const batch = session.newBatch(from);
  batch.add(decodeUpdate(frames.text(frames.transaction(to, []))));
  await session.writeBatch(batch, from);
}

function completion(offset: number): Completion {
  const value = {
    offset,
    commandId: `c-${String(offset)}`,
    userId: 'u',
    actAs: [frames.alice],
    updateId: `1220${String(offset).padStart(4, '0')}`,
  };
  const frame = decodeCompletion(JSON.stringify({ completionResponse: { Completion: { value } } }));
  if (frame.kind !== 'completion') throw new Error('no completion');
  return frame;
}

async function storedOffsets(): Promise<readonly number[]> {
  const { rows } = await client.query<{ at: number }>('select "offset"::int as at from completions order by 1');
  return rows.map(({ at }) => at);
}

const start = { begin: 0, parties: [] };
const fencedError = { code: 'WRITER_FENCED', retry: 'fenced' };

describe('completions', () => {
  it('are stored in one transaction with their checkpoint', async () => {
    const session = await streamAt(10);
    const from = await session.completions.open(start);
    await session.completions.write([completion(3), completion(7)], from, 8);
    expect(await session.completions.open(start)).toBe(8);
    // Repeats the write, as the indexer does after a commit whose response was lost.
    await expect(session.completions.write([completion(3), completion(7)], from, 8)).rejects.toMatchObject(fencedError);
    // A failed write does not move the checkpoint.
    await expect(session.completions.write([completion(7)], 8, 9)).rejects.toMatchObject({ code: 'STORE_DUPLICATE' });
    expect(await session.completions.open(start)).toBe(8);
    expect(await storedOffsets()).toEqual([3, 7]);
  });

  it('are never stored beyond the checkpoint of the stream', async () => {
    const session = await streamAt(10);
    const from = await session.completions.open(start);
    await expect(session.completions.write([completion(11)], from, 11)).rejects.toMatchObject(fencedError);
    expect(await storedOffsets()).toEqual([]);
    await follow(session, 10, 11);
    await session.completions.write([completion(11)], from, 11);
    expect(await storedOffsets()).toEqual([11]);
  });

  it('are not stored by a replaced writer', async () => {
    const previous = await streamAt(10);
    const from = await previous.completions.open(start);
    const next = await openSession(database, identity);
    await expect(previous.completions.write([completion(3)], from, 5)).rejects.toMatchObject(fencedError);
    await expect(previous.completions.skip({ from, to: 5, reason: 'pruned' })).rejects.toMatchObject(fencedError);
    await expect(previous.completions.open(start)).rejects.toMatchObject(fencedError);
    expect(await next.completions.open(start)).toBe(from);
    expect(await storedOffsets()).toEqual([]);
  });

  it('delay a takeover during a write of completions, and do not delay a batch of updates', async () => {
    const session = await streamAt(10);
    const from = await session.completions.open(start);
    await client.query('begin');
    // Holds the write after it has passed the fence, because it needs this table.
    await client.query('lock table submitters in access exclusive mode');
    const write = session.completions.write([completion(3)], from, 4);
    await waitFor('the write waits', async () => {
      const { rows } = await client.query(
        "select from pg_locks where relation = 'submitters'::regclass and not granted",
      );
      return rows.length > 0 ? true : undefined;
    });
    await follow(session, 10, 11);
    let isTakenOver = false;
    const takeover = openSession(database, identity).then((next) => {
      isTakenOver = true;
      return next;
    });
    await pause(300);
    expect(isTakenOver).toBe(false);
    await client.query('commit');
    await write;
    const next = await takeover;
    expect(await next.completions.open(start)).toBe(4);
  });

  it('begin a new range at the end of the previous range if the parties change', async () => {
    const session = await streamAt(10);
    await session.completions.write([completion(3)], await session.completions.open(start), 5);
    expect(await session.completions.open({ ...start, parties: ['b', 'a'] })).toBe(5);
    expect(await session.completions.open({ ...start, parties: ['a', 'b'] })).toBe(5);
    const { rows } = await client.query(
      'select from_offset::int as from, to_offset::int as to, parties from completion_ranges order by 1',
    );
    expect(rows).toEqual([
      { from: 0, to: 5, parties: [] },
      { from: 5, to: 5, parties: ['a', 'b'] },
    ]);
  });
});
