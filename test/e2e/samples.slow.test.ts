/** Serves every sample of a frame over sockets and indexes it. Each field of the sample is then in Postgres. */
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { openAccess } from '../../src/ledger/open-access.ts';
import { startIndexer, type Indexer } from '../../src/indexer/indexer.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { readSamples, type Sample } from './runs/sample-files.ts';
import { LeafCheck, type Message } from './runs/sample-leaves.ts';

const samples = readSamples();

interface Run {
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly created: TestDatabase;
  readonly indexer: Indexer;
}
const runs: Run[] = [];
afterAll(async () => {
  for (const { sandbox, database, created: testDatabase, indexer } of runs) {
    await indexer.stop();
    await database.close();
    await sandbox.close();
    await testDatabase.drop();
  }
});

/** Indexes the history of the sandbox. */
async function start(sandbox: Sandbox, shape: string): Promise<Run> {
  const testDatabase = await createTestDatabase();
  const env = { LEDGER_URL: sandbox.url, DATABASE_URL: testDatabase.url, INDEXER_HTTP_PORT: '0', LEDGER_SHAPE: shape };
  const config = loadConfig(env);
  const logging = createLogger({ level: 'silent', format: 'json', stream: { write: () => true } });
  const urls = { ledgerUrl: sandbox.url, databaseUrl: testDatabase.url };
  const access = await openAccess(config.ledger, new AbortController().signal);
  const indexer = await startIndexer({ config, access, ...urls, version: 'test', logging });
  const { schema } = config.database;
  const options = { schema, statementTimeoutMs: 10_000, applicationName: 'test' };
  const run = {
    sandbox,
    created: testDatabase,
    indexer,
    database: openDatabase({ url: testDatabase.url, ...options }),
  };
  runs.push(run);
  return run;
}

async function stream(run: Run): Promise<Message | undefined> {
  return run.database
    .withClient(async (client) => (await client.query<Message>('select * from stream')).rows[0])
    .catch(() => undefined);
}

/** Waits until the checkpoint is at the ledger end. */
async function runIndexer(run: Run): Promise<Message> {
  const whenFailed = run.indexer.done.then(() => 'it ended').catch((error: unknown) => error);
  const whenReached = waitFor('the checkpoint at the ledger end', async () => {
    const row = await stream(run);
    return Number(row?.['checkpoint'] ?? -1) >= run.sandbox.ledger.ledgerEnd() ? row : undefined;
  });
  const first = await Promise.race([
    whenReached,
    whenFailed.then((stopReason) => Promise.reject(new Error('stopped', { cause: stopReason }))),
  ]);
  return first;
}

/** The sample, as if the participant had recorded it at this offset. */
function sampleAt(
  offset: number,
  { frame, name }: Sample,
): { name: string; kind: string; value: Message; frame: Message } {
  const copy = structuredClone(frame) as { update: Record<string, { value: Record<string, unknown> }> };
  const [kind = ''] = Object.keys(copy.update);
  const value = copy.update[kind]?.value ?? {};
  value['offset'] = offset;
  for (const event of (value['events'] ?? []) as Record<string, Record<string, unknown>>[]) {
    for (const body of Object.values(event)) {
      for (const holder of [body, body['value'], body['createdEvent']] as Record<string, unknown>[]) {
        if (holder?.['offset'] !== undefined) holder['offset'] = offset;
      }
    }
  }
  return { name, kind, value, frame: copy };
}

/**
 * The entry without its continuation token, because that token comes from another participant and would be invalid
 * here.
 */
function withoutToken(frame: Message): Message {
  return 'streamContinuationToken' in frame ? { ...frame, streamContinuationToken: '' } : frame;
}

describe.each(['LEDGER_EFFECTS', 'ACS_DELTA'])('indexer with shape %s', (shape) => {
  it('stores every field of all sample updates and active contracts', async () => {
    const { updates, entries } = samples;
    expect(Math.min(updates.length, entries.length)).toBeGreaterThan(3);
    const sandbox = await startSandbox();
    for (const { frame } of entries) sandbox.ledger.addAcsEntryRaw(JSON.stringify(withoutToken(frame)));
    sandbox.ledger.skipOffsets(1_000_000);
    const run = await start(sandbox, shape);
    await runIndexer(run);
    const servedUpdates = updates.map((sample, index) => sampleAt(1_000_001 + index, sample));
    for (const { frame } of servedUpdates) sandbox.ledger.appendRaw(JSON.stringify(frame));
    await runIndexer(run);
    const check = await LeafCheck.of(run.database);
    for (const { name, kind, value } of servedUpdates) check.update(name, kind, value);
    for (const { name, frame } of entries) check.entry(name, frame);
    expect(check.problems).toEqual([]);
    expect(check.leaves).toBeGreaterThan(500);
    console.log(
      `${shape}: ${updates.length} updates and ${entries.length} entries, ${check.leaves} fields found again`,
    );
  });

  it('moves the checkpoint and the record times to each sample OffsetCheckpoint', async () => {
    for (const sample of samples.checkpoints) {
      const sandbox = await startSandbox();
      const run = await start(sandbox, shape);
      await runIndexer(run);
      sandbox.ledger.appendRaw(JSON.stringify(sample.frame));
      const { record_times: recordTimes, checkpoint } = await runIndexer(run);
      const { value } = (sample.frame['update'] as Record<string, { value: Message }>)['OffsetCheckpoint'] ?? {};
      const sentTimes = (value?.['synchronizerTimes'] ?? []) as { synchronizerId: string; recordTime: string }[];
      expect(checkpoint).toBe(value?.['offset']);
      expect(recordTimes).toEqual(Object.fromEntries(sentTimes.map((time) => [time.synchronizerId, time.recordTime])));
    }
  });
});
