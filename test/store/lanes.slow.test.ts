/** Two batches are sent concurrently. The second one commits after the first one, and is rolled back if it fails. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreBatch, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { identity } from '../support/schemas.ts';

let testDatabase: TestDatabase;
let database: Database;
let session: StoreSession;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  // With this default, a later batch would not see the commit of the previous one.
  const name = new URL(testDatabase.url).pathname.slice(1);
  await query(testDatabase.url, `alter database ${name} set default_transaction_isolation = 'repeatable read'`);
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test lanes',
  });
  await migrate(database);
  session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
});
afterEach(async () => {
  await database.close();
  await testDatabase.drop();
});

/** A batch of one transaction with the event and this number of other creates. */
function batchOf(from: number, otherRowCount: number, event: frames.JsonRecord): StoreBatch {
  const batch = session.newBatch(from);
  const filling = Array.from({ length: otherRowCount }, (_, index) => ({
    CreatedEvent: frames.created({ contractId: `other ${from} ${index}`, nodeId: index + 1, acsDelta: false }),
  }));
  batch.add(decodeUpdate(frames.text(frames.transaction(from + 1, [event, ...filling]))));
  return batch;
}

const create = { CreatedEvent: frames.created({ contractId: 'one' }) };
const archive = { ExercisedEvent: frames.exercised({ contractId: 'one', consuming: true, acsDelta: true }) };

const storedSql = `select (select checkpoint from ledger.stream) as checkpoint,
  (select array_agg("offset" order by "offset") from ledger.decoded_updates) as offsets,
  (select array_agg(deactivated_offset) from ledger.lifetimes) as ends`;

/** Sessions of this test that have sent their rows and wait in an open transaction. */
const waitingSql = `select 1 from pg_stat_activity
  where application_name = 'test lanes' and datname = current_database() and state = 'idle in transaction'`;

describe.each([
  ['few', 0],
  ['many', 500],
])('concurrent batches with %s rows', (_, otherRowCount) => {
  it('commit in order, and the second batch can end contracts of the first', async () => {
    let commit = (): void => undefined;
    const whenAllowed = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const first = batchOf(0, otherRowCount, create);
    const second = batchOf(1, otherRowCount, archive);
    const previousWrite = whenAllowed.then(() => session.writeBatch(first, 0));
    const laterWrite = session.writeBatch(second, 1, previousWrite);
    // A batch with few rows is not sent before the previous one commits.
    if (otherRowCount > 0) {
      await waitFor('the later batch waits', async () => (await query(testDatabase.url, waitingSql))[0]);
    }
    expect(await query(testDatabase.url, storedSql)).toEqual([{ checkpoint: '0', offsets: null, ends: null }]);
    commit();
    await Promise.all([previousWrite, laterWrite]);
    expect(await query(testDatabase.url, storedSql)).toEqual([{ checkpoint: '2', offsets: ['1', '2'], ends: ['2'] }]);
  });

  it('store nothing if the first batch fails', async () => {
    const second = batchOf(1, otherRowCount, create);
    const previousWrite = Promise.reject(new Error('gone'));
    // In the program, the queue of the pipeline handles this rejection. This test has no queue.
    previousWrite.catch(() => undefined);
    await expect(session.writeBatch(second, 1, previousWrite)).rejects.toHaveProperty('message');
    expect(await query(testDatabase.url, storedSql)).toEqual([{ checkpoint: '0', offsets: null, ends: null }]);
  });
});

describe('batch waiting for the previous batch', () => {
  it('is not ended by the idle timeout', async () => {
    await database.close();
    const idleInTransactionMs = 400;
    const options = {
      url: testDatabase.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test lanes',
    };
    database = openDatabase({ ...options, idleInTransactionMs });
    session = await openSession(database, identity);
    const [first, second] = [batchOf(0, 500, create), batchOf(1, 500, archive)];
    const previousWrite = pause(4 * idleInTransactionMs).then(() => session.writeBatch(first, 0));
    await session.writeBatch(second, 1, previousWrite);
    expect(await query(testDatabase.url, storedSql)).toEqual([{ checkpoint: '2', offsets: ['1', '2'], ends: ['2'] }]);
  });
});
