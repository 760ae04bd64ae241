/**
 * Tests messages of a newer participant. Unknown content is always reported. It stops the stream if it might change
 * contracts.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { quarantineCommand } from '../../src/cli/maintain/quarantine.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { scriptedLedger, validUpdates } from '../e2e/runs/scripted-ledger.ts';
import { query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createMigratedDatabase();
});
afterEach(() => database.drop());

const unknownUpdate = (offset: number, change: JsonRecord = {}): JsonRecord =>
  frames.update('Prophecy', { offset, updateId: `1220${String(offset)}`, synchronizerId: frames.here, ...change });
const renamedUpdate = frames.update('TopologyTransaction', {
  offset: 4,
  updateId: '12204',
  synchronizerId: frames.here,
  recordTime: frames.recordTime,
  events: [{ event: { PartyRenamed: { value: { partyId: frames.alice, to: 'Alicia' } } } }],
});
const shapedUpdate = frames.transaction(5, [
  { CreatedEvent: frames.created({ contractId: '00e', offset: 5, nodeId: 0, shape: 1 }) },
  { CreatedEvent: frames.created({ contractId: '00f', offset: 5, nodeId: 1, shape: 2 }) },
]);
const harmlessUpdates = [
  validUpdates[0],
  unknownUpdate(2),
  unknownUpdate(3, { deep: [{ n: 1 }] }),
  renamedUpdate,
  shapedUpdate,
];
/** The second update changes contracts in an unknown way. */
const harmfulUpdates = [
  validUpdates[0],
  unknownUpdate(2, { purged: { contractIds: ['00a'] } }),
  validUpdates[2],
  validUpdates[3],
  validUpdates[4],
];

const env = (url: string, schema: string, extraEnv: Record<string, string> = {}): Record<string, string> => ({
  LEDGER_URL: url,
  DATABASE_URL: database.url,
  POSTGRES_SCHEMA: schema,
  INDEXER_START: 'genesis',
  ...extraEnv,
});

async function waitUntilParked(run: IndexerRun): Promise<unknown> {
  return waitFor('the indexer parks', async () => {
    const now = await run.status();
    return now.state === 'parked' ? { checkpoint: now.checkpoint, ...(now.lastError as object) } : undefined;
  });
}

const kinds = (schema: string): Promise<unknown> =>
  query(database.url, `select "offset"::int, kind from ${schema}.decoded_updates order by 1`);

describe('unknown content', () => {
  it('is stored raw or ignored, and logged once and counted by name', async () => {
    await using ledger = await scriptedLedger(harmlessUpdates);
    await using run = await runIndexer(env(ledger.url, 'ledger'));
    await run.reaches(5);
    const logLines = run.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ kind }) => kind !== undefined)
      .map(({ level, msg, kind, name, offset }) => ({ level, msg, kind, name, offset }));
    expect(logLines).toEqual([
      { level: 'warn', msg: 'update of an unknown kind stored raw', kind: 'update', name: 'Prophecy', offset: 2 },
      {
        level: 'warn',
        msg: 'topology event of an unknown kind stored raw',
        kind: 'topology_event',
        name: 'PartyRenamed',
        offset: 4,
      },
      { level: 'warn', msg: 'unknown field ignored', kind: 'field', name: 'CreatedEvent.shape', offset: 5 },
    ]);
    expect(await run.metric('indexer_unknown_total{kind="update",name="Prophecy"}')).toBe(2);
    expect(await run.metric('indexer_unknown_total{kind="topology_event",name="PartyRenamed"}')).toBe(1);
    expect(await run.metric('indexer_unknown_total{kind="field",name="CreatedEvent.shape"}')).toBe(2);
    for (const kind of ['update', 'topology_event', 'field']) {
      expect(await run.metric(`indexer_unknown_names{kind="${kind}"}`)).toBe(1);
    }
    expect(await run.status()).toMatchObject({
      unknown: [
        { kind: 'update', name: 'Prophecy', firstOffset: 2, count: 2 },
        { kind: 'topology_event', name: 'PartyRenamed', firstOffset: 4, count: 1 },
        { kind: 'field', name: 'CreatedEvent.shape', firstOffset: 5, count: 2 },
      ],
    });
    expect(await query(database.url, 'select kind, raw::text from ledger.topology_events')).toEqual([
      { kind: 'PartyRenamed', raw: `{"PartyRenamed":{"value":{"partyId":"${frames.alice}","to":"Alicia"}}}` },
    ]);
  });

  it('parks the indexer if an update of an unknown kind names contracts', async () => {
    await using ledger = await scriptedLedger(harmfulUpdates);
    await using run = await runIndexer(env(ledger.url, 'ledger'));
    expect(await waitUntilParked(run)).toMatchObject({
      checkpoint: 1,
      code: 'UPDATE_KIND_UNKNOWN',
      message: expect.stringContaining('the update at offset 2 is of kind Prophecy, which names contracts') as string,
    });
    expect((await fetch(`${run.httpUrl}/readyz`)).status).toBe(503);
    expect(await kinds('ledger')).toEqual([{ offset: 1, kind: 'transaction' }]);
  });

  it('parks the indexer if an unknown topology event names contracts', async () => {
    const events = [{ event: { ContractsPurged: { value: { contractIds: ['00a'] } } } }];
    const purge = frames.update('TopologyTransaction', {
      offset: 2,
      updateId: '12202',
      synchronizerId: frames.here,
      recordTime: frames.recordTime,
      events,
    });
    await using ledger = await scriptedLedger([
      validUpdates[0],
      purge,
      validUpdates[2],
      validUpdates[3],
      validUpdates[4],
    ]);
    await using run = await runIndexer(env(ledger.url, 'ledger'));
    expect(await waitUntilParked(run)).toMatchObject({
      checkpoint: 1,
      code: 'UPDATE_KIND_UNKNOWN',
      message: expect.stringContaining('the topology event at offset 2 is of kind ContractsPurged') as string,
    });
  });

  it('is stored raw or parks the indexer as INDEXER_UNKNOWN_UPDATES specifies', async () => {
    await using bad = await scriptedLedger(harmfulUpdates);
    await using parkedIndexer = await runIndexer(env(bad.url, 'ledger', { INDEXER_UNKNOWN_UPDATES: 'store' }));
    await parkedIndexer.reaches(5);
    expect(await kinds('ledger')).toContainEqual({ offset: 2, kind: 'unknown' });
    await using validLedger = await scriptedLedger(harmlessUpdates);
    await using strict = await runIndexer(env(validLedger.url, 'fresh', { INDEXER_UNKNOWN_UPDATES: 'park' }));
    expect(await waitUntilParked(strict)).toMatchObject({ checkpoint: 1, code: 'UPDATE_KIND_UNKNOWN' });
  });

  it('is quarantined, and stored by quarantine retry if INDEXER_UNKNOWN_UPDATES=store', async () => {
    await using ledger = await scriptedLedger(harmfulUpdates);
    {
      await using run = await runIndexer(env(ledger.url, 'ledger', { INDEXER_QUARANTINE: 'true' }));
      await run.reaches(5);
    }
    const retry = async (extraEnv: Record<string, string>): Promise<readonly string[]> => {
      const lines: string[] = [];
      const settings = { DATABASE_URL: database.url, POSTGRES_SCHEMA: 'ledger', ...extraEnv };
      await runCommand(quarantineCommand, ['retry'], settings, { print: (line) => lines.push(line) }).catch(
        () => undefined,
      );
      return lines;
    };
    expect(await retry({})).toEqual([expect.stringContaining('2 still fails: UPDATE_KIND_UNKNOWN')]);
    expect(await retry({ INDEXER_UNKNOWN_UPDATES: 'store' })).toEqual(['2 stored']);
    expect(await kinds('ledger')).toContainEqual({ offset: 2, kind: 'unknown' });
  });

  it('parks the indexer with the offset if it is a transaction event', async () => {
    const unknownEventFrame = frames.transaction(2, [{ PurgedEvent: { contractId: '00a' } }]);
    await using ledger = await scriptedLedger([validUpdates[0], unknownEventFrame, validUpdates[2]]);
    await using run = await runIndexer(env(ledger.url, 'ledger'));
    expect(await waitUntilParked(run)).toMatchObject({
      checkpoint: 1,
      code: 'UPDATE_UNDECODABLE',
      message: expect.stringContaining('offset 2') as string,
    });
  });
});
