/** Listeners of the stream's channel receive a checkpoint only after it can be read. */
import { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type SessionOptions } from '../../src/store/write/session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { identity } from '../support/schemas.ts';

let testDatabase: TestDatabase;
let database: Database;
let listener: Client;
let receivedNotice: { readonly payload: string | undefined; readonly readable: Promise<number> }[];

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    schema: 'some_stream',
    statementTimeoutMs: 60_000,
    applicationName: 'test notify',
  });
  await migrate(database);
  receivedNotice = [];
  listener = new Client({ connectionString: testDatabase.url });
  await listener.connect();
  listener.on('notification', ({ payload }) => {
    const whenReadable = listener.query<{ checkpoint: string }>('select checkpoint from some_stream.stream');
    receivedNotice.push({ payload, readable: whenReadable.then(({ rows }) => Number(rows[0]?.checkpoint)) });
  });
  await listener.query('listen some_stream_offset');
});
afterEach(async () => {
  await listener.end();
  await database.close();
  await testDatabase.drop();
});

/** Publishes a seed at offset 5, and writes batches up to 7 and 9. A batch between them fails. */
async function write(options?: SessionOptions): Promise<void> {
  const session = await openSession(database, identity, options);
  await session.publishSeed(5, 'genesis');
  const write = async (from: number, ...updates: frames.JsonRecord[]): Promise<void> => {
    const batch = session.newBatch(from);
    for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
    await session.writeBatch(batch, from);
  };
  await write(5, frames.transaction(6, []), frames.transaction(7, []));
  await expect(write(6, frames.transaction(8, []))).rejects.toMatchObject({ code: 'WRITER_FENCED' });
  await write(7, frames.offsetCheckpoint(9));
}

it('NOTIFY sends only committed checkpoints that can be read, including the newest', async () => {
  await write();
  await waitFor('the newest', () => (receivedNotice.at(-1)?.payload === '9' ? true : undefined));
  // While a notification is being sent, only the newest checkpoint is queued.
  expect(['5', '7', '9']).toEqual(expect.arrayContaining(receivedNotice.map(({ payload }) => payload)));
  expect(receivedNotice[0]?.payload).toBe('5');
  for (const { payload, readable: whenReadable } of receivedNotice)
    expect(await whenReadable).toBeGreaterThanOrEqual(Number(payload));
});

it('NOTIFY sends no checkpoint if notifications are disabled', async () => {
  await write({ notify: false });
  await listener.query(`select pg_notify('some_stream_offset', 'last')`);
  await waitFor('the last notification', () => (receivedNotice.length > 0 ? true : undefined));
  expect(receivedNotice.map(({ payload }) => payload)).toEqual(['last']);
  await receivedNotice[0]?.readable;
});
