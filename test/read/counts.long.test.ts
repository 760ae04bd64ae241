/** The counts and sums of the writer equal the rows, even if the writer was interrupted. */
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import * as frames from '../support/frames.ts';
import { randomFrom, randomHistory } from './random-history.ts';
import { identity } from '../support/schemas.ts';

let testDatabase: TestDatabase;
const openDatabases: Database[] = [];

beforeEach(async () => {
  testDatabase = await createTestDatabase();
});
afterEach(async () => {
  for (const database of openDatabases.splice(0)) await database.close();
  await testDatabase.drop();
});

async function databaseOf(schema: string): Promise<Database> {
  const options = { statementTimeoutMs: 60_000, applicationName: 'test counts' };
  const database = openDatabase({ url: testDatabase.url, schema, ...options });
  openDatabases.push(database);
  await migrate(database);
  return database;
}

const countsSql = (schema: string): string =>
  `select template_pk, activated::int, deactivated::int from ${schema}.active_counts order by 1`;
const recountSql = (schema: string): string =>
  `select template_pk, count(*)::int as activated, count(deactivated_offset)::int as deactivated
     from ${schema}.lifetimes group by 1 order by 1`;

async function expectCountsOf(schema: string): Promise<void> {
  expect(await query(testDatabase.url, countsSql(schema))).toEqual(await query(testDatabase.url, recountSql(schema)));
}

type BatchWriter = (
  session: StoreSession,
  from: number,
  to: number,
  previousWrite?: Promise<unknown>,
) => Promise<unknown>;

/** Returns a function that writes the updates after `from` up to `to` as one batch. */
function writerOf(history: readonly frames.JsonRecord[]): BatchWriter {
  return (session, from, to, previousWrite) => {
    const batch = session.newBatch(from);
    for (const update of history.slice(from, to)) batch.add(decodeUpdate(frames.text(update)));
    return session.writeBatch(batch, from, previousWrite);
  };
}

const disconnectSql = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test counts'`;

/** Opens a session. Retries, because the pool may still contain closed connections. */
async function reopenSession(database: Database): Promise<StoreSession> {
  for (let attempt = 4; attempt > 0; attempt -= 1) {
    const session = await openSession(database, identity).catch(() => undefined);
    if (session !== undefined) return session;
  }
  return openSession(database, identity);
}

/** Writes the history in batches of random sizes, two at a time, and closes all connections at random times. */
async function writeWithCuts(database: Database, history: readonly frames.JsonRecord[], seed: number): Promise<number> {
  const random = randomFrom(seed);
  const write = writerOf(history);
  let disconnectCount = 0;
  const disconnectClient = new Client({ connectionString: testDatabase.url });
  await disconnectClient.connect();
  let session = await openSession(database, identity);
  if (!session.state.seeded) await session.publishSeed(0, 'genesis');
  for (let checkpoint = 0; checkpoint < history.length;) {
    const middle = Math.min(history.length, checkpoint + 1 + Math.floor(random() * 40));
    const end = Math.min(history.length, middle + 1 + Math.floor(random() * 40));
    const first = write(session, checkpoint, middle);
    const second = end > middle ? write(session, middle, end, first) : first;
    const whenEnded = Promise.allSettled([first, second]);
    const isCut = random() < 0.5;
    if (isCut) await disconnectClient.query(disconnectSql);
    const outcomes = await whenEnded;
    if (!isCut) expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled']);
    if (outcomes.some((outcome) => outcome.status === 'rejected')) disconnectCount += 1;
    session = await reopenSession(database);
    checkpoint = session.state.checkpoint ?? 0;
    await expectCountsOf(database.schema);
  }
  await disconnectClient.end();
  return disconnectCount;
}

describe('counters of the writer', () => {
  it.each([1, 2, 3])(
    'equal the stored rows after random history %i, with random batches and disconnects',
    async (seed) => {
      const history = randomHistory(seed, 600);
      const [firstDatabase, otherDatabase] = [await databaseOf('one'), await databaseOf('other')];
      const disconnectCount = await writeWithCuts(firstDatabase, history, seed);
      await writeWithCuts(otherDatabase, history, seed + 100);
      expect(disconnectCount).toBeGreaterThan(0);
      const [{ ended: endedCount = 0, active: activeCount = 0 } = {}] = await query(
        testDatabase.url,
        'select sum(deactivated)::int as ended, sum(activated - deactivated)::int as active from one.active_counts',
      );
      expect(Number(endedCount)).toBeGreaterThan(100);
      expect(Number(activeCount)).toBeGreaterThan(10);
      expect(await digestOf(testDatabase.url, 'other')).toBe(await digestOf(testDatabase.url, 'one'));
    },
  );

  it('sum transactions, traffic and delay per hour and synchronizer', async () => {
    const history = randomHistory(7, 300);
    const database = await databaseOf('ledger');
    await writeWithCuts(database, history, 7);
    const storedRows = await query(
      testDatabase.url,
      `select hour, synchronizer_pk, transactions::int, paid_traffic_cost::int as cost, round(delay_seconds::numeric, 3) as delay
         from ledger.activity_hourly where template_pk = 0 and choice_pk = 0 order by 1, 2`,
    );
    const summedRows = await query(
      testDatabase.url,
      `select date_trunc('hour', record_time, 'UTC') as hour, synchronizer_pk,
              (count(*) filter (where kind = 'transaction'))::int as transactions,
              coalesce(sum(paid_traffic_cost), 0)::int as cost,
              round(coalesce(sum(extract(epoch from record_time - effective_at)), 0), 3) as delay
         from ledger.updates group by 1, 2 order by 1, 2`,
    );
    expect(storedRows.length).toBeGreaterThan(10);
    expect(storedRows).toEqual(summedRows);
  });

  it('cap the traffic cost of an hour at the maximum of bigint', async () => {
    const database = await databaseOf('ledger');
    const session = await openSession(database, identity);
    await session.publishSeed(0, 'genesis');
    const batch = session.newBatch(0);
    for (const offset of [1, 2]) {
      const frame = frames.text(frames.transaction(offset, [], { paidTrafficCost: 'COST' }));
      batch.add(decodeUpdate(frame.replace('"COST"', '9223372036854775807')));
    }
    await session.writeBatch(batch, 0);
    await writerOf([...Array<frames.JsonRecord>(2), frames.transaction(3, [])])(session, 2, 3);
    expect(
      await query(
        testDatabase.url,
        'select transactions::int, paid_traffic_cost::text as cost from ledger.activity_hourly',
      ),
    ).toEqual([{ transactions: 3, cost: '9223372036854775807' }]);
  });

  it('include only the contracts of the last attempt after a seed restarts', async () => {
    const database = await databaseOf('ledger');
    const seed = async (ids: readonly string[]): Promise<void> => {
      const session = await openSession(database, identity);
      await session.beginSeed(90);
      const batch = session.newBatch(90);
      for (const [nodeId, contractId] of ids.entries())
        batch.addEntry(decodeActiveContract(frames.text(frames.activeEntry({ contractId, nodeId }))));
      const archivedFrame = {
        createdEvent: frames.created({ contractId: 'gone', nodeId: 9 }),
        unassignedEvent: frames.unassigned({ contractId: 'gone' }),
      };
      batch.addEntry(decodeActiveContract(frames.text(frames.entry('JsIncompleteUnassigned', archivedFrame))));
      await session.writeSeed(batch, 0);
      await expectCountsOf('ledger');
    };
    await seed(['a', 'b', 'c']);
    await seed(['a', 'b']);
    expect(await query(testDatabase.url, countsSql('ledger'))).toEqual([
      { template_pk: 1, activated: 3, deactivated: 1 },
    ]);
  });
});
