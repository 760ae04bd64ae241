/**
 * `npm run upgrade:large`: upgrades a large database while the previous version writes and readers read:
 *
 *   npm run upgrade:large -- --events 5000000
 *   npm run upgrade:large -- --events 20000 --kills 1
 *
 * It prints the time of the migration, the locks that it held, the longest time that a reader or the writer was
 * blocked, and the time of the takeover. `--kills N` also ends the migration of the recorded database at every Nth of
 * its statements. The exit code is 1 if a result is not the expected one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import { startDaemon, type Daemon } from '../../e2e/runs/daemon.ts';
import { watchStored, type StoredStream } from '../../e2e/runs/stored.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createNewerBuild, type NewerBuild } from '../newer-build.ts';
import { killEvery } from './every-kill.ts';
import { growingLedger, type GrowingLedger } from './growing-ledger.ts';
import { startReaders, watchLocks, watchWriter } from './watchers.ts';

/** A reader or the writer may be blocked for at most this long, milliseconds. */
const limitMs = 1_000;
/** Updates per second while the upgrade is measured. */
const pace = 200;
const currentProgram = `${process.cwd()}/dist/main.js`;

const { values } = parseArgs({
  options: { events: { type: 'string', default: '20000' }, kills: { type: 'string' } },
});

const print = (name: string, value: unknown): void => {
  process.stdout.write(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
};

function start(ledger: GrowingLedger, databaseUrl: string, program: string): Daemon {
  const env = { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' };
  return startDaemon({ ledgerUrl: ledger.url, databaseUrl, schema: 'ledger', env, program });
}

/** Grows the ledger as fast as the indexer stores it, until this number of events is stored. */
async function fill(ledger: GrowingLedger, stored: StoredStream, events: number): Promise<number> {
  for (;;) {
    await ledger.follow(async () => (await stored.checkpoint('ledger').catch(() => undefined)) ?? 0, 2_000);
    const inserted = await eventsOf(stored.client);
    if (inserted >= events) return inserted;
  }
}

async function eventsOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ n: string }>(
    `select coalesce(sum(n_tup_ins), 0) as n from pg_stat_user_tables
      where schemaname = 'ledger' and relname in ('contracts', 'exercises', 'ended')`,
  );
  return Number(rows[0]?.n);
}

/** Digests of the rows up to an offset in the tables that only grow, and of the columns that they have now. */
async function rowsUpTo(client: Client, offset: number): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  const columns = {
    updates: '"offset", update_id, record_time, synchronizer_pk',
    contracts: '"offset", node_id, contract_id, payload',
    exercises: '"offset", node_id, contract_id, argument, result',
  };
  for (const [table, list] of Object.entries(columns)) {
    const { rows } = await client.query<{ digest: string }>(
      `select concat(count(*), ' ', sum(hashtextextended(row(${list})::text, 0)::numeric)) as digest from ledger.${table} where "offset" <= $1`,
      [offset],
    );
    digests[table] = rows[0]?.digest ?? '';
  }
  return digests;
}

async function migrate(
  newer: NewerBuild,
  url: string,
): Promise<{ readonly code: number | null; readonly ms: number; readonly output: string }> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [newer.program, 'migrate'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ms: Math.round(performance.now() - startMs), output };
}

/** Resolves to whether all results are the expected ones. */
async function measure(newer: NewerBuild, url: string, events: number): Promise<boolean> {
  await using ledger = await growingLedger();
  await using stored = await watchStored(url);
  await using previous = start(ledger, url, currentProgram);
  const filledMs = performance.now();
  print('events', await fill(ledger, stored, events));
  print('updates', ledger.end());
  print('fill, s', Math.round((performance.now() - filledMs) / 1000));
  await stored.client.query('vacuum analyze');
  const offset = (await stored.checkpoint('ledger')) ?? 0;
  const before = await rowsUpTo(stored.client, offset);
  ledger.pace(pace);
  const readers = await startReaders(url);
  const quiet = await watchWriter(url, stored, () => wait(10_000));
  print('without an upgrade', { readers: readers.lap(), writerMs: quiet.longestMs });
  const locks = await watchLocks(url);
  let migrated = { code: null as number | null, ms: 0, output: '' };
  const writer = await watchWriter(url, stored, async () => {
    migrated = await migrate(newer, url);
  });
  const reading = readers.lap();
  print('migration', { ms: migrated.ms, code: migrated.code });
  print('locks of the migration', await locks.stop());
  print('during the migration', { readers: reading, writerMs: writer.longestMs });
  const next = start(ledger, url, newer.program);
  await next.logged('standby');
  const epoch = await epochOf(stored.client);
  const takeoverMs = performance.now();
  previous.signal('SIGTERM');
  while ((await epochOf(stored.client)) === epoch) await wait(10);
  print('takeover, ms', Math.round(performance.now() - takeoverMs));
  await stored.reaches(next, 'ledger', ledger.end());
  const after = readers.lap();
  print('during the takeover', { readers: after });
  await readers.stop();
  ledger.pace(0);
  const same = JSON.stringify(await rowsUpTo(stored.client, offset)) === JSON.stringify(before);
  print('rows before the upgrade are unchanged', same);
  await stored.reaches(next, 'ledger', ledger.end());
  next.signal('SIGTERM');
  await next.exited;
  const errors = reading.errors + after.errors;
  return same && migrated.code === 0 && errors === 0 && Math.max(reading.longestMs, after.longestMs) <= limitMs;
}

async function epochOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ epoch: string }>('select epoch from ledger.stream');
  return Number(rows[0]?.epoch);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

async function main(): Promise<void> {
  process.env['TEST_POSTGRES_URL'] = process.env['TEST_DATABASE_URL'];
  using newer = createNewerBuild();
  await using database = await createTestDatabase();
  const isExpected = await measure(newer, database.url, Number(values.events));
  const isRepeatable = values.kills === undefined || (await killEvery(Number(values.kills), newer, print));
  print('result', isExpected && isRepeatable ? 'as expected' : 'NOT as expected');
  process.exitCode = isExpected && isRepeatable ? 0 : 1;
}

await main();
