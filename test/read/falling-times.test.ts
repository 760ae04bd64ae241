/**
 * Record times that rise on each synchronizer but fall between updates of different synchronizers. Stored data and
 * results by time do not depend on the order of the times.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { Activity } from '../../src/model/activity.ts';
import { postgresMicroseconds } from '../../src/model/binary-timestamp.ts';
import { batchFactsOf } from '../../src/pipeline/intake/batch-builder.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { openSession, type StoreBatch, type StoreSession } from '../../src/store/write/session.ts';
import * as frames from '../support/frames.ts';
import { here, type JsonRecord, there } from '../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';
import { identity } from '../support/schemas.ts';

/** Updates of one synchronizer and of another one that is about half an hour behind. Their hours alternate. */
const recordTimes: readonly (readonly [synchronizer: string, time: string])[] = [
  [here, '2026-08-14T12:10:00.000001Z'],
  [there, '2026-08-14T11:50:00.000002Z'],
  [here, '2026-08-14T12:20:00.000003Z'],
  [there, '2026-08-14T11:55:00.000004Z'],
  [there, '2026-08-14T11:58:00.000005Z'],
  [here, '2026-08-14T12:30:00.000006Z'],
  [there, '2026-08-14T11:59:59.999999Z'],
];
/** Updates per batch. The last time of a batch is never its newest time, and the last batch has only an old time. */
const batches = [4, 2, 1];
const end = recordTimes.length;

/** Ledger time of a transaction, one second before its record time. */
function effective(time: string): string {
  return `${new Date(Date.parse(time) - 1000).toISOString().slice(0, -1)}${time.slice(23)}`;
}

function transactionAt(offset: number): JsonRecord {
  const [synchronizerId = '', recordTime = ''] = recordTimes[offset - 1] ?? [];
  const create = { CreatedEvent: frames.created({ contractId: `c${offset}` }) };
  return frames.transaction(offset, [create], { synchronizerId, recordTime, effectiveAt: effective(recordTime) });
}

let readDatabase: ReadDatabase;
let database: Database;
/** Newest record time that each batch reports to the observer. */
const newestOffsets: (number | undefined)[] = [];
/** Whether the stream row has the newest record time after each batch. */
const keptResults: unknown[] = [];

beforeAll(async () => {
  readDatabase = await createReadDatabase();
  database = openDatabase({
    url: readDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  const session = await openSession(database, identity);
  let from = 0;
  for (const count of batches) {
    const batch = batchAfter(session, from, count);
    const rows = await session.writeBatch(batch, from);
    newestOffsets.push(
      batchFactsOf(batch, rows, { frames: count, bytes: 0, seconds: 0, error: undefined }, 0).recordTimeMs,
    );
    from = batch.offset;
    const [row] = await readDatabase.query(`select checkpoint_record_time = $1::timestamptz as is_newest from stream`, [
      newestTimeUpTo(from),
    ]);
    keptResults.push(row?.['is_newest']);
  }
});
afterAll(async () => {
  await database.close();
  await readDatabase[Symbol.asyncDispose]();
});

function batchAfter(session: StoreSession, afterOffset: number, count: number): StoreBatch {
  const batch = session.newBatch(afterOffset);
  for (let offset = afterOffset + 1; offset <= afterOffset + count; offset += 1) {
    batch.add(decodeUpdate(frames.text(transactionAt(offset))));
  }
  return batch;
}

/** The newest record time up to an offset. Texts of equal length compare like times. */
function newestTimeUpTo(offset: number, synchronizer?: string): string | undefined {
  return recordTimes
    .slice(0, offset)
    .filter(([synchronizerId]) => synchronizer === undefined || synchronizerId === synchronizer)
    .map(([, time]) => time)
    .sort()
    .at(-1);
}

describe('updates with decreasing record times', () => {
  it('do not lower the newest time of the checkpoint', () => {
    expect(keptResults).toEqual([true, true, true]);
  });

  it('set the newest record time of each synchronizer', async () => {
    const [row] = await readDatabase.query('select record_times from stream');
    expect(row?.['record_times']).toEqual({ [here]: newestTimeUpTo(end, here), [there]: newestTimeUpTo(end, there) });
  });

  it('are counted in the hour of their record time', async () => {
    const rows = await readDatabase.query(
      `select to_char(hour at time zone 'UTC', 'HH24') as hour, s.synchronizer_id as synchronizer, a.template_pk = 0 as of_all,
              creates::int, total_creates::int as total, transactions::int
         from activity_hourly a join synchronizers s using (synchronizer_pk) order by 1, 2, 3`,
    );
    const hour = (name: string, synchronizer: string, count: number) => [
      { hour: name, synchronizer, of_all: false, creates: count, total: 0, transactions: 0 },
      { hour: name, synchronizer, of_all: true, creates: 0, total: count, transactions: count },
    ];
    expect(rows).toEqual([...hour('11', there, 4), ...hour('12', here, 3)]);
  });

  it('are counted in their own hour after a later hour of another synchronizer', () => {
    const activity = new Activity();
    for (const [time, synchronizerPk] of [
      ['2026-08-14T12:10:00.000001Z', 1],
      ['2026-08-14T11:50:00.000002Z', 2],
      ['2026-08-14T12:05:00.000003Z', 2],
    ] as const) {
      const row = activity.at(postgresMicroseconds(time), 7, 0, synchronizerPk);
      if (row !== undefined) row.creates += 1;
    }
    const activityRows = activity.rows().filter(({ templatePk }) => templatePk === 7);
    const first = activityRows[0]?.hour ?? 0;
    expect(activityRows.map(({ hour, synchronizerPk, creates }) => [hour - first, synchronizerPk, creates])).toEqual([
      [0, 1, 1],
      [0, 2, 1],
      [-1, 2, 1],
    ]);
  });

  it('report the newest record time of each batch to the observer', () => {
    expect(newestOffsets).toEqual(
      [recordTimes[2], recordTimes[5], recordTimes[6]].map((recordTime) => Date.parse(recordTime?.[1] ?? '')),
    );
  });

  it.each([
    ['before all updates', '2026-08-14T11:00:00Z', null],
    ['between updates of the slower synchronizer', '2026-08-14T11:54:59.000004Z', 4],
    ['after the slower and before the faster synchronizer', '2026-08-14T12:00:00Z', 7],
    ['at an update of the faster synchronizer', '2026-08-14T12:19:59.000003Z', 3],
    ['a microsecond before an update of the faster synchronizer', '2026-08-14T12:19:59.000002Z', 1],
    ['after all updates', '2026-08-14T13:00:00Z', 6],
  ])('have the correct nearest_offset() for a time %s', async (_caseName, time, offset) => {
    const [row] = await readDatabase.query('select explore.nearest_offset($1::timestamptz)::int as nearest', [time]);
    expect(row?.['nearest']).toBe(offset);
  });

  it('set the record time of their contracts', async () => {
    const rows = await readDatabase.query<{ id: string; at: boolean }>(
      `select c.contract_id as id, c.record_time = t.time as at
         from explore.contracts c join unnest($1::text[], $2::timestamptz[]) t (id, time) on t.id = c.contract_id`,
      [recordTimes.map((_, index) => `c${index + 1}`), recordTimes.map(([, time]) => time)],
    );
    expect(rows).toHaveLength(end);
    expect(rows.filter(({ at }) => !at)).toEqual([]);
  });
});
