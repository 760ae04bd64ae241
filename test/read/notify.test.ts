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

let created: TestDatabase;
let database: Database;
let listener: Client;
let heard: { readonly payload: string | undefined; readonly readable: Promise<number> }[];

beforeEach(async () => {
  created = await createTestDatabase();
  database = openDatabase({
    url: created.url,
    schema: 'some_stream',
    statementTimeoutMs: 60_000,
    applicationName: 'test notify',
  });
  await migrate(database);
  heard = [];
  listener = new Client({ connectionString: created.url });
  await listener.connect();
  listener.on('notification', ({ payload }) => {
    const readable = listener.query<{ checkpoint: string }>('select checkpoint from some_stream.stream');
    heard.push({ payload, readable: readable.then(({ rows }) => Number(rows[0]?.checkpoint)) });
  });
  await listener.query('listen some_stream_offset');
});
afterEach(async () => {
  await listener.end();
  await database.close();
  await created.drop();
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
  await waitFor('the newest', () => (heard.at(-1)?.payload === '9' ? true : undefined));
  // While a notification is being sent, only the newest checkpoint is queued.
  expect(['5', '7', '9']).toEqual(expect.arrayContaining(heard.map(({ payload }) => payload)));
  expect(heard[0]?.payload).toBe('5');
  for (const { payload, readable } of heard) expect(await readable).toBeGreaterThanOrEqual(Number(payload));
});

it('NOTIFY sends no checkpoint if notifications are disabled', async () => {
  await write({ notify: false });
  await listener.query(`select pg_notify('some_stream_offset', 'last')`);
  await waitFor('the last notification', () => (heard.length > 0 ? true : undefined));
  expect(heard.map(({ payload }) => payload)).toEqual(['last']);
  await heard[0]?.readable;
});
