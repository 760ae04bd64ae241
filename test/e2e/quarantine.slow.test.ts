/**
 * An update that cannot be stored stops the stream. If quarantine is allowed, the update is quarantined and later
 * stored at its offset.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quarantineCommand } from '../../src/cli/maintain/quarantine.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { created, text, transaction } from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { runIndexer } from './runs/indexer-run.ts';
import { move, scriptedLedger, validUpdates } from './runs/scripted-ledger.ts';
import { runCommand } from '../support/run-command.ts';

const partyWithNul = `Eve${String.fromCharCode(0)}::1220`;
/** Update 2 contains a party that Postgres rejects. Update 4 lacks a field that is needed for indexing. */
const oddUpdates = [
  validUpdates[0],
  move(2, '00a', '00b', partyWithNul),
  validUpdates[2],
  transaction(4, [{ CreatedEvent: { ...created(), contractId: null } }]),
  validUpdates[4],
];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const env = (url: string, schema: string): Record<string, string> => ({
  LEDGER_URL: url,
  DATABASE_URL: database.url,
  POSTGRES_SCHEMA: schema,
  INDEXER_START: 'genesis',
});

async function quarantine(schema: string, ...args: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  const settings = { DATABASE_URL: database.url, POSTGRES_SCHEMA: schema };
  await runCommand(quarantineCommand, args, settings, { print: (line) => lines.push(line) }).catch((error: unknown) => {
    lines.push(error instanceof Error ? error.message : 'failed');
  });
  return lines;
}

describe('invalid update', () => {
  it('parks the indexer and is reported with its offset unless quarantine is allowed', async () => {
    await using ledger = await scriptedLedger(oddUpdates);
    await using run = await runIndexer(env(ledger.url, 'stopped'));
    const status = await waitFor('the indexer parks', async () => {
      const now = await run.status();
      return now.state === 'parked' ? now : undefined;
    });
    expect(status.checkpoint).toBe(1);
    expect(status.lastError).toMatchObject({ code: 'STORE_DATA_REFUSED' });
    expect(JSON.stringify(status.lastError)).toContain('offset 2');
    expect(await query(database.url, 'select from stopped.quarantine')).toEqual([]);
  });

  it('is quarantined if INDEXER_QUARANTINE is set, and stored by a later retry', async () => {
    await using validLedger = await scriptedLedger(validUpdates);
    await using bad = await scriptedLedger(oddUpdates);
    {
      await using complete = await runIndexer(env(validLedger.url, 'whole'));
      await complete.reaches(5);
      await using gaps = await runIndexer({ ...env(bad.url, 'gaps'), INDEXER_QUARANTINE: 'true' });
      await gaps.reaches(5);
      expect(await gaps.metric('indexer_quarantined_total')).toBe(2);
      expect(gaps.logged('update quarantined')).toBe(2);
      expect(await quarantine('gaps', 'retry')).toEqual([
        expect.stringContaining('an indexer writes to schema "gaps"'),
      ]);
    }
    const rows = await query(database.url, `select "offset"::int, code, frame from gaps.quarantine order by 1`);
    expect(rows.map((row) => [row['offset'], row['code']])).toEqual([
      [2, 'STORE_DATA_REFUSED'],
      [4, 'UPDATE_UNDECODABLE'],
    ]);
    expect(String(rows[0]?.['frame'])).toBe(text(oddUpdates[1] as ReturnType<typeof transaction>));
    expect(await query(database.url, 'select "offset"::int from gaps.updates order by 1')).toEqual(
      [1, 3, 5].map((offset) => ({ offset })),
    );
    expect(await quarantine('gaps', 'list')).toHaveLength(2);
    expect(await quarantine('gaps', 'retry')).toMatchObject([
      expect.stringContaining('2 still fails'),
      expect.stringContaining('4 still fails'),
      '2 update(s) still cannot be stored',
    ]);

    // Simulates that the reason is gone: the same updates without the rejected values.
    for (const offset of [2, 4]) {
      const frame = text(validUpdates[offset - 1] as ReturnType<typeof transaction>).replaceAll("'", "''");
      await query(
        database.url,
        `update gaps.quarantine set frame = convert_to('${frame}', 'UTF8') where "offset" = ${String(offset)}`,
      );
    }
    expect(await quarantine('gaps', 'retry')).toEqual(['2 stored', '4 stored']);
    expect(await quarantine('gaps', 'list')).toEqual(['the quarantine is empty']);
    expect(await digestOf(database.url, 'gaps')).toBe(await digestOf(database.url, 'whole'));
    await using restartedIndexer = await runIndexer(env(validLedger.url, 'gaps'));
    await restartedIndexer.reaches(5);
  });
});
