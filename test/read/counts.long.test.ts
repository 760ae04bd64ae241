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

let created: TestDatabase;
const open: Database[] = [];

beforeEach(async () => {
  created = await createTestDatabase();
});
afterEach(async () => {
  for (const database of open.splice(0)) await database.close();
  await created.drop();
});

async function databaseOf(schema: string): Promise<Database> {
  const options = { statementTimeoutMs: 60_000, applicationName: 'test counts' };
  const database = openDatabase({ url: created.url, schema, ...options });
  open.push(database);
  await migrate(database);
  return database;
}

const counted = (schema: string): string =>
  `select template_pk, activated::int, deactivated::int from ${schema}.active_counts order by 1`;
const recounted = (schema: string): string =>
  `select template_pk, count(*)::int as activated, count(deactivated_offset)::int as deactivated
     from ${schema}.lifetimes group by 1 order by 1`;

async function expectCountsOf(schema: string): Promise<void> {
  expect(await query(created.url, counted(schema))).toEqual(await query(created.url, recounted(schema)));
}

type Write = (session: StoreSession, from: number, to: number, predecessor?: Promise<unknown>) => Promise<unknown>;

/** Returns a function that writes the updates after `from` up to `to` as one batch. */
function writerOf(history: readonly frames.JsonRecord[]): Write {
  return (session, from, to, predecessor) => {
    const batch = session.newBatch(from);
    for (const update of history.slice(from, to)) batch.add(decodeUpdate(frames.text(update)));
    return session.writeBatch(batch, from, predecessor);
  };
}

const cutAll = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test counts'`;

/** Opens a session. Retries, because the pool may still contain closed connections. */
async function reopened(database: Database): Promise<StoreSession> {
  for (let tries = 4; tries > 0; tries -= 1) {
    const session = await openSession(database, identity).catch(() => undefined);
    if (session !== undefined) return session;
  }
  return openSession(database, identity);
}

/** Writes the history in batches of random sizes, two at a time, and closes all connections at random times. */
async function writeWithCuts(database: Database, history: readonly frames.JsonRecord[], seed: number): Promise<number> {
  const random = randomFrom(seed);
  const write = writerOf(history);
  let cuts = 0;
  const knife = new Client({ connectionString: created.url });
  await knife.connect();
  let session = await openSession(database, identity);
  if (!session.state.seeded) await session.publishSeed(0, 'genesis');
  for (let checkpoint = 0; checkpoint < history.length;) {
    const middle = Math.min(history.length, checkpoint + 1 + Math.floor(random() * 40));
    const end = Math.min(history.length, middle + 1 + Math.floor(random() * 40));
    const first = write(session, checkpoint, middle);
    const second = end > middle ? write(session, middle, end, first) : first;
    const ending = Promise.allSettled([first, second]);
    const cut = random() < 0.5;
    if (cut) await knife.query(cutAll);
    const ends = await ending;
    if (!cut) expect(ends.map((done) => done.status)).toEqual(['fulfilled', 'fulfilled']);
    if (ends.some((done) => done.status === 'rejected')) cuts += 1;
    session = await reopened(database);
    checkpoint = session.state.checkpoint ?? 0;
    await expectCountsOf(database.schema);
  }
  await knife.end();
  return cuts;
}

describe('counters of the writer', () => {
  it.each([1, 2, 3])(
    'equal the stored rows after random history %i, with random batches and disconnects',
    async (seed) => {
      const history = randomHistory(seed, 600);
      const [one, other] = [await databaseOf('one'), await databaseOf('other')];
      const cuts = await writeWithCuts(one, history, seed);
      await writeWithCuts(other, history, seed + 100);
      expect(cuts).toBeGreaterThan(0);
      const [{ ended = 0, active = 0 } = {}] = await query(
        created.url,
        'select sum(deactivated)::int as ended, sum(activated - deactivated)::int as active from one.active_counts',
      );
      expect(Number(ended)).toBeGreaterThan(100);
      expect(Number(active)).toBeGreaterThan(10);
      expect(await digestOf(created.url, 'other')).toBe(await digestOf(created.url, 'one'));
    },
  );

  it('sum transactions, traffic and delay per hour and synchronizer', async () => {
    const history = randomHistory(7, 300);
    const database = await databaseOf('ledger');
    await writeWithCuts(database, history, 7);
    const kept = await query(
      created.url,
      `select hour, synchronizer_pk, transactions::int, paid_traffic_cost::int as cost, round(delay_seconds::numeric, 3) as delay
         from ledger.activity_hourly where template_pk = 0 and choice_pk = 0 order by 1, 2`,
    );
    const summed = await query(
      created.url,
      `select date_trunc('hour', record_time, 'UTC') as hour, synchronizer_pk,
              (count(*) filter (where kind = 'transaction'))::int as transactions,
              coalesce(sum(paid_traffic_cost), 0)::int as cost,
              round(coalesce(sum(extract(epoch from record_time - effective_at)), 0), 3) as delay
         from ledger.updates group by 1, 2 order by 1, 2`,
    );
    expect(kept.length).toBeGreaterThan(10);
    expect(kept).toEqual(summed);
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
      await query(created.url, 'select transactions::int, paid_traffic_cost::text as cost from ledger.activity_hourly'),
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
      const gone = {
        createdEvent: frames.created({ contractId: 'gone', nodeId: 9 }),
        unassignedEvent: frames.unassigned({ contractId: 'gone' }),
      };
      batch.addEntry(decodeActiveContract(frames.text(frames.entry('JsIncompleteUnassigned', gone))));
      await session.writeSeed(batch, 0);
      await expectCountsOf('ledger');
    };
    await seed(['a', 'b', 'c']);
    await seed(['a', 'b']);
    expect(await query(created.url, counted('ledger'))).toEqual([{ template_pk: 1, activated: 3, deactivated: 1 }]);
  });
});
