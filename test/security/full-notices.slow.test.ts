/**
 * A login without any right fills the notification queue. All databases of a server share this queue, so this test
 * file has its own server.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { noticeReport } from '../../src/observe/log/notice-report.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { programInProcess } from '../cli/in-process.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { identity } from '../support/schemas.ts';
import { waitFor } from '../support/wait-for.ts';
import { decodeUpdate } from '../support/wire/decode.ts';

let folder: string;
let server: EmbeddedPostgres;
let database: Database;
const clients: Client[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'full-notices-'));
  // The smallest possible queue, because the default queue of 8 GB takes a minute to fill.
  server = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    settings: { max_notify_queue_pages: '64', shared_buffers: '32MB' },
  });
  database = openDatabase({
    url: server.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test notices',
  });
  await migrate(database);
  await query(server.url, `create role stranger login password 'secret'`);
});
afterAll(async () => {
  for (const client of clients) await client.end();
  await database.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  clients.push(client);
  return client;
}

/** The line about the notification queue in the output of `check`. */
async function noticesChecked(): Promise<unknown> {
  const { stdout } = await programInProcess(['check', '--json'], { DATABASE_URL: server.url });
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly name: string }[] };
  return checks.find(({ name }) => name === 'notices');
}

it('the writer continues while the notification queue is full, and notifies again later', async () => {
  const url = new URL(server.url);
  url.username = 'stranger';
  url.password = 'secret';
  // A listener in a transaction reads no notifications, so the queue keeps them.
  const holder = await connected(url.href);
  await holder.query('listen x');
  await holder.query('begin; select 1');
  const filler = await connected(url.href);
  const fill = `select count(pg_notify('x', repeat('z', 7900) || i)) from generate_series(1, 20) i`;
  const filled = async (): Promise<string> => {
    for (;;) await filler.query(fill);
  };
  await expect(filled()).rejects.toMatchObject({ code: '54000' });

  const metrics = createMetrics({ version: 'test' });
  const log: string[] = [];
  const { logger } = createLogger({ level: 'warn', format: 'json', stream: { write: (line) => log.push(line) > 0 } });
  const lostNotices = async (): Promise<number> => {
    const [value] = (await metrics.notifyFailures.get()).values;
    return value?.value ?? 0;
  };
  const onNotice = noticeReport({ metrics, logger });
  const session = await openSession(database, identity, { notify: true, onNotice });
  await session.publishSeed(5, 'genesis');
  const write = async (from: number, offset: number): Promise<void> => {
    const batch = session.newBatch(from);
    batch.add(decodeUpdate(frames.text(frames.transaction(offset, []))));
    await session.writeBatch(batch, from);
  };
  await write(5, 6);
  await write(6, 7);
  expect(await query(server.url, 'select checkpoint::int from ledger.stream')).toEqual([{ checkpoint: 7 }]);
  await waitFor('two notices are lost', async () => ((await lostNotices()) >= 2 ? true : undefined));
  expect(log).toHaveLength(1);
  expect(JSON.parse(log[0] ?? '')).toMatchObject({ reason: 'the notification queue is full (SQLSTATE 54000)' });
  expect(await noticesChecked()).toMatchObject({
    state: 'warn',
    found: expect.stringMatching(/^the notification queue of the server is (?:9\d|100) % full/) as string,
  });

  const listener = await connected(server.url);
  const noticeTexts: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => noticeTexts.push(payload));
  await listener.query('listen ledger_offset');
  await holder.query('rollback');
  await holder.query('unlisten *');
  let offset = 7;
  await waitFor('a notice', async () => {
    await write(offset, offset + 1);
    offset += 1;
    return noticeTexts.length > 0 ? true : undefined;
  });
  expect(log).toHaveLength(1);
  expect(await noticesChecked()).toMatchObject({ state: 'pass' });
});
