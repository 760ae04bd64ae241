/**
 * Batches with thousands of events of one template. One statement, message or list cannot contain all of them. Every
 * stored count must equal the number of sent events.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { here, type JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

const otherTemplate = `${'ef'.repeat(32)}:Main.Other:Other`;
/** Numbers of contracts of one template that end in their own batch, in the next batch, or not at all. */
const sizes = { endsAtOnce: 1_100, endsLater: 1_300, stays: 1_200 };
const exerciseCount = sizes.endsAtOnce + sizes.endsLater + sizes.stays;
const endedCount = sizes.endsAtOnce + sizes.endsLater;
/** Number of contracts of the other template, each in its own transaction. */
const otherContracts = 3;

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'large',
  });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const create = (contractId: string, nodeId = 0, change: JsonRecord = {}): JsonRecord => ({
  CreatedEvent: frames.created({ contractId, nodeId, ...change }),
});
const exercise = (contractId: string): JsonRecord => ({
  ExercisedEvent: frames.exercised({ contractId, interfaceId: null }),
});
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

/** Writes transactions with offsets after `afterOffset` as one batch. Resolves to the last offset. */
async function writeBatch(
  session: StoreSession,
  afterOffset: number,
  transactions: readonly JsonRecord[][],
): Promise<number> {
  const batch = session.newBatch(afterOffset);
  for (const [index, events] of transactions.entries()) {
    batch.add(decodeUpdate(frames.text(frames.transaction(afterOffset + 1 + index, events))));
  }
  await session.writeBatch(batch, afterOffset);
  return afterOffset + transactions.length;
}

/** Writes transactions with two creates each, and transactions with one exercise that ends a contract. */
async function writeHistory(session: StoreSession): Promise<number> {
  const creates = numbers(0, exerciseCount / 2).map((pair) => [create(`c${2 * pair}`), create(`c${2 * pair + 1}`, 1)]);
  const foreign = numbers(0, otherContracts).map((index) => [create(`o${index}`, 0, { templateId: otherTemplate })]);
  const sameUpdateExercises = numbers(0, sizes.endsAtOnce).map((index) => [exercise(`c${index}`)]);
  const laterNumbers = numbers(sizes.endsAtOnce, sizes.endsLater).map((index) => [exercise(`c${index}`)]);
  const first = await writeBatch(session, 0, [...creates, ...foreign, ...sameUpdateExercises]);
  return await writeBatch(session, first, laterNumbers);
}

describe('two batches with thousands of contracts of one template', () => {
  let checkpoint: number;
  const rows = (sql: string): Promise<readonly Record<string, unknown>[]> => query(testDatabase.url, sql);
  beforeAll(async () => {
    const session = await openSession(database, identity);
    await session.publishSeed(0, 'genesis');
    checkpoint = await writeHistory(session);
  });

  it('store every row', async () => {
    const [storedCounts] = await rows(
      `select (select count(*)::int from ledger.decoded_updates) as updates, (select count(*)::int from ledger.decoded_contracts) as contracts,
              (select count(distinct contract_id)::int from ledger.decoded_contracts) as ids,
              (select count(*)::int from ledger.decoded_exercises) as exercises, (select count(*)::int from ledger.decoded_interface_views) as views,
              (select sum(event_count)::int from ledger.decoded_updates) as events, (select checkpoint::int from ledger.stream) as checkpoint`,
    );
    expect(storedCounts).toEqual({
      updates: checkpoint,
      contracts: exerciseCount + otherContracts,
      ids: exerciseCount + otherContracts,
      exercises: endedCount,
      views: exerciseCount + otherContracts,
      events: exerciseCount + otherContracts + endedCount,
      checkpoint,
    });
  });

  it('end exactly the exercised contracts', async () => {
    const [endCounts] = await rows(
      `select count(*)::int as lifetimes, count(l.deactivated_offset)::int as ended,
              count(*) filter (where l.deactivated_offset is distinct from e."offset")::int as wrong
         from ledger.lifetimes l left join ledger.decoded_exercises e using (contract_id)`,
    );
    expect(endCounts).toEqual({ lifetimes: exerciseCount + otherContracts, ended: endedCount, wrong: 0 });
  });

  it('count the contracts of each template', async () => {
    const counts = await rows(
      `select t.entity_name as template, a.activated::int, a.deactivated::int
         from ledger.active_counts a join ledger.templates t using (template_pk) order by 1`,
    );
    expect(counts).toEqual([
      { template: 'Iou', activated: exerciseCount, deactivated: endedCount },
      { template: 'Other', activated: otherContracts, deactivated: 0 },
    ]);
    const [activeCount] = await rows(`select count(*)::int as iou from explore.active('Iou')`);
    expect(activeCount).toEqual({ iou: sizes.stays });
  });

  it('count the events per hour by template and choice', async () => {
    const hours = await rows(
      `select entity_name as template, choice, creates::int, archives::int, exercises::int
         from explore.activity order by 1, 2 nulls first`,
    );
    expect(hours).toEqual([
      { template: 'Iou', choice: null, creates: exerciseCount, archives: 0, exercises: 0 },
      { template: 'Iou', choice: 'Transfer', creates: 0, archives: endedCount, exercises: endedCount },
      { template: 'Other', choice: null, creates: otherContracts, archives: 0, exercises: 0 },
    ]);
  });

  it('count updates, costs, delays and events per hour', async () => {
    // Each delay is 0.100001 s rounded to a multiple of 2^-20 s, so that the sum of the numbers is exact.
    const delay = (checkpoint * Math.round(0.100001 * 2 ** 20)) / 2 ** 20;
    const [hour] = await rows(
      `select transactions::int, paid_traffic_cost::int as cost, delay_seconds as delay, total_creates::int as creates,
              total_archives::int as archives, total_exercises::int as exercises
         from ledger.activity_hourly where template_pk = 0`,
    );
    expect(hour).toEqual({
      transactions: checkpoint,
      cost: 512 * checkpoint,
      delay,
      creates: exerciseCount + otherContracts,
      archives: endedCount,
      exercises: endedCount,
    });
  });
});

describe('seed batch with thousands of contracts of one template', () => {
  it('counts all contracts', async () => {
    const seededDatabase = openDatabase({
      url: testDatabase.url,
      schema: 'seeded',
      statementTimeoutMs: 60_000,
      applicationName: 's',
    });
    try {
      await migrate(seededDatabase);
      const session = await openSession(seededDatabase, identity);
      await session.beginSeed(7);
      const batch = session.newBatch(7);
      for (const index of numbers(0, exerciseCount)) {
        batch.addEntry(
          decodeActiveContract(frames.text(frames.activeEntry({ contractId: `s${index}`, offset: 5, nodeId: index }))),
        );
      }
      await session.writeSeed(batch, 0);
      await session.publishSeed(7, 'seed');
    } finally {
      await seededDatabase.close();
    }
    const [countRow] = await query(
      testDatabase.url,
      `select (select seed_contracts::int from seeded.stream) as entries, (select count(*)::int from seeded.decoded_contracts) as rows,
              a.activated::int, a.deactivated::int, s.synchronizer_id as synchronizer
         from seeded.active_counts a, seeded.synchronizers s`,
    );
    expect(countRow).toEqual({
      entries: exerciseCount,
      rows: exerciseCount,
      activated: exerciseCount,
      deactivated: 0,
      synchronizer: here,
    });
  });
});
