/**
 * Tests updates that the ledger sends after later updates that are already stored. They are not lost, and no update of
 * another history is stored.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { runIndexer } from './runs/indexer-run.ts';
import { move, scriptedLedger, validUpdates } from './runs/scripted-ledger.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** One update per batch, so that the other updates are committed when the late one arrives. */
const env = (url: string, schema: string): Record<string, string> => ({
  LEDGER_URL: url,
  DATABASE_URL: database.url,
  POSTGRES_SCHEMA: schema,
  INDEXER_START: 'genesis',
  INDEXER_BATCH_UPDATES: '1',
  INDEXER_WRITE_CONCURRENCY: '1',
});

async function storedOffsets(schema: string): Promise<readonly number[]> {
  const rows = await query(database.url, `select "offset"::int as "offset" from ${schema}.updates order by 1`);
  return rows.map(({ offset }) => Number(offset));
}

describe('late update', () => {
  it('is stored at its offset', async () => {
    await using validLedger = await scriptedLedger(validUpdates);
    await using swappedLedger = await scriptedLedger([
      validUpdates[0],
      validUpdates[2],
      validUpdates[1],
      validUpdates[3],
      validUpdates[4],
    ]);
    await using orderedIndexer = await runIndexer(env(validLedger.url, 'whole'));
    await orderedIndexer.reaches(5);
    await using lateIndexer = await runIndexer(env(swappedLedger.url, 'late'));
    await lateIndexer.reaches(5);
    expect(lateIndexer.logged('update stored out of order')).toBe(1);
    expect(await storedOffsets('late')).toEqual([1, 2, 3, 4, 5]);
    expect(await digestOf(database.url, 'late')).toBe(await digestOf(database.url, 'whole'));
  });

  it('is not stored if the ledger returns another update at its offset', async () => {
    const foreign = move(2, '00x', '00y');
    const value = Object.values(foreign['update'] as Record<string, { value: { updateId: string } }>)[0]?.value;
    if (value !== undefined) value.updateId = '1220beef';
    await using mixedLedger = await scriptedLedger([
      validUpdates[0],
      validUpdates[2],
      foreign,
      validUpdates[3],
      validUpdates[4],
    ]);
    await using run = await runIndexer(env(mixedLedger.url, 'mixed'));
    await run.reaches(5);
    expect(await storedOffsets('mixed')).toEqual([1, 3, 4, 5]);
    expect(run.logged('update stored out of order')).toBe(0);
  });
});
