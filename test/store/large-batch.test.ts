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

const other = `${'ef'.repeat(32)}:Main.Other:Other`;
/** Numbers of contracts of one template that end in their own batch, in the next batch, or not at all. */
const sizes = { endsAtOnce: 1_100, endsLater: 1_300, stays: 1_200 };
const all = sizes.endsAtOnce + sizes.endsLater + sizes.stays;
const ended = sizes.endsAtOnce + sizes.endsLater;
/** Number of contracts of the other template, each in its own transaction. */
const others = 3;

let created: TestDatabase;
let database: Database;
beforeAll(async () => {
  created = await createTestDatabase();
  database = openDatabase({ url: created.url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'large' });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  await created.drop();
});

const create = (contractId: string, nodeId = 0, change: JsonRecord = {}): JsonRecord => ({
  CreatedEvent: frames.created({ contractId, nodeId, ...change }),
});
const exercise = (contractId: string): JsonRecord => ({
  ExercisedEvent: frames.exercised({ contractId, interfaceId: null }),
});
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

/** Writes transactions with offsets after `after` as one batch. Resolves to the last offset. */
async function writeBatch(
  session: StoreSession,
  after: number,
  transactions: readonly JsonRecord[][],
): Promise<number> {
  const batch = session.newBatch(after);
  for (const [index, events] of transactions.entries()) {
    batch.add(decodeUpdate(frames.text(frames.transaction(after + 1 + index, events))));
  }
  await session.writeBatch(batch, after);
  return after + transactions.length;
}

/** Writes transactions with two creates each, and transactions with one exercise that ends a contract. */
async function writeHistory(session: StoreSession): Promise<number> {
  const creates = numbers(0, all / 2).map((pair) => [create(`c${2 * pair}`), create(`c${2 * pair + 1}`, 1)]);
  const foreign = numbers(0, others).map((index) => [create(`o${index}`, 0, { templateId: other })]);
  const atOnce = numbers(0, sizes.endsAtOnce).map((index) => [exercise(`c${index}`)]);
  const later = numbers(sizes.endsAtOnce, sizes.endsLater).map((index) => [exercise(`c${index}`)]);
  const first = await writeBatch(session, 0, [...creates, ...foreign, ...atOnce]);
  return await writeBatch(session, first, later);
}

describe('two batches with thousands of contracts of one template', () => {
  let checkpoint: number;
  const rows = (sql: string): Promise<readonly Record<string, unknown>[]> => query(created.url, sql);
  beforeAll(async () => {
    const session = await openSession(database, identity);
    await session.publishSeed(0, 'genesis');
    checkpoint = await writeHistory(session);
  });

  it('store every row', async () => {
    const [stored] = await rows(
      `select (select count(*)::int from ledger.decoded_updates) as updates, (select count(*)::int from ledger.decoded_contracts) as contracts,
              (select count(distinct contract_id)::int from ledger.decoded_contracts) as ids,
              (select count(*)::int from ledger.decoded_exercises) as exercises, (select count(*)::int from ledger.decoded_interface_views) as views,
              (select sum(event_count)::int from ledger.decoded_updates) as events, (select checkpoint::int from ledger.stream) as checkpoint`,
    );
    expect(stored).toEqual({
      updates: checkpoint,
      contracts: all + others,
      ids: all + others,
      exercises: ended,
      views: all + others,
      events: all + others + ended,
      checkpoint,
    });
  });

  it('end exactly the exercised contracts', async () => {
    const [ends] = await rows(
      `select count(*)::int as lifetimes, count(l.deactivated_offset)::int as ended,
              count(*) filter (where l.deactivated_offset is distinct from e."offset")::int as wrong
         from ledger.lifetimes l left join ledger.decoded_exercises e using (contract_id)`,
    );
    expect(ends).toEqual({ lifetimes: all + others, ended, wrong: 0 });
  });

  it('count the contracts of each template', async () => {
    const counts = await rows(
      `select t.entity_name as template, a.activated::int, a.deactivated::int
         from ledger.active_counts a join ledger.templates t using (template_pk) order by 1`,
    );
    expect(counts).toEqual([
      { template: 'Iou', activated: all, deactivated: ended },
      { template: 'Other', activated: others, deactivated: 0 },
    ]);
    const [active] = await rows(`select count(*)::int as iou from explore.active('Iou')`);
    expect(active).toEqual({ iou: sizes.stays });
  });

  it('count the events per hour by template and choice', async () => {
    const hours = await rows(
      `select entity_name as template, choice, creates::int, archives::int, exercises::int
         from explore.activity order by 1, 2 nulls first`,
    );
    expect(hours).toEqual([
      { template: 'Iou', choice: null, creates: all, archives: 0, exercises: 0 },
      { template: 'Iou', choice: 'Transfer', creates: 0, archives: ended, exercises: ended },
      { template: 'Other', choice: null, creates: others, archives: 0, exercises: 0 },
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
      creates: all + others,
      archives: ended,
      exercises: ended,
    });
  });
});

describe('seed batch with thousands of contracts of one template', () => {
  it('counts all contracts', async () => {
    const seeded = openDatabase({
      url: created.url,
      schema: 'seeded',
      statementTimeoutMs: 60_000,
      applicationName: 's',
    });
    try {
      await migrate(seeded);
      const session = await openSession(seeded, identity);
      await session.beginSeed(7);
      const batch = session.newBatch(7);
      for (const index of numbers(0, all)) {
        batch.addEntry(
          decodeActiveContract(frames.text(frames.activeEntry({ contractId: `s${index}`, offset: 5, nodeId: index }))),
        );
      }
      await session.writeSeed(batch, 0);
      await session.publishSeed(7, 'seed');
    } finally {
      await seeded.close();
    }
    const [counted] = await query(
      created.url,
      `select (select seed_contracts::int from seeded.stream) as entries, (select count(*)::int from seeded.decoded_contracts) as rows,
              a.activated::int, a.deactivated::int, s.synchronizer_id as synchronizer
         from seeded.active_counts a, seeded.synchronizers s`,
    );
    expect(counted).toEqual({ entries: all, rows: all, activated: all, deactivated: 0, synchronizer: here });
  });
});
