/**
 * Checks that each baseline layout of the benchmark contains every event of the recording, and that a missing event is
 * reported.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  baselineDatabase,
  runBaseline,
  stageBaseline,
  type Baseline,
  type BaselineRows,
} from '../../bench/baselines/baseline.ts';
import { pqsLayout } from '../../bench/baselines/pqs-layout.ts';
import { rawJson } from '../../bench/baselines/raw-json.ts';
import { undoAll } from '../../bench/cleanup.ts';
import { preloadedCounts, preloadedDatabase, preloadedFilter } from '../../bench/growth/preload.ts';
import { migrateSchema, openServer, schema, type RunDatabase, type Server } from '../../bench/postgres.ts';
import { headerLength } from '../../bench/replay/frame.ts';
import { expectedAfter, openingTransactions, profileNamed, type ExpectedCounts } from '../../bench/replay/profiles.ts';
import { recordingIndex, updatesRecording, type Recording } from '../../bench/replay/recording.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { openSession } from '../../src/store/write/session.ts';

const profile = { ...profileNamed('default'), pool: 30 };
const transactions = 40;
const expected = expectedAfter(profile, transactions);
const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));

let server: Server;
beforeAll(async () => {
  server = await openServer({ url: process.env['TEST_POSTGRES_URL'], folder, settings: {} });
});
afterAll(async () => {
  await undoAll();
  rmSync(folder, { recursive: true, force: true });
});

function recordHistory(preloadedCount = 0): Recording {
  return updatesRecording({ folder, profile, count: transactions, preloaded: preloadedCount, say: () => undefined });
}

/** Stores the frames of the recording as an indexer does, in two batches. */
async function writeBaseline(recording: Recording, database: RunDatabase): Promise<void> {
  const [positions, bytes] = [recordingIndex(recording.path), readFileSync(recording.path)];
  const { json, hash } = preloadedFilter();
  const openedDatabase = openDatabase({
    url: database.url,
    schema,
    statementTimeoutMs: 60_000,
    applicationName: 'bench test',
  });
  try {
    const identity = { participantId: 'p::1220', filter: json, filterHash: hash, shape: 'LEDGER_EFFECTS' } as const;
    const session = await openSession(openedDatabase, identity);
    if (!session.state.seeded) await session.publishSeed(0, 'genesis');
    const frames = openingTransactions(profile) + transactions;
    for (const [from, to] of [
      [0, frames / 2],
      [frames / 2, frames],
    ].map((range) => range.map(Math.floor)) as [number, number][]) {
      const batch = session.newBatch(from);
      for (let index = from; index < to; index += 1) {
        const frame = bytes.subarray(positions[index], positions[index + 1]);
        batch.add(decodeUpdate(frame.subarray(headerLength(frame)).toString()));
      }
      await session.writeBatch(batch, from);
    }
  } finally {
    await openedDatabase.close();
  }
}

function rowsOf(
  baseline: Baseline,
  database: RunDatabase,
  recording: Recording,
  expectedRows: ExpectedCounts = expected,
): Promise<BaselineRows> {
  return stageBaseline(baseline, database, { recording, expected: expectedRows });
}

describe('benchmark baseline', () => {
  let database: RunDatabase;
  let recording: Recording;
  beforeAll(async () => {
    recording = recordHistory();
    database = await migrateSchema(await server.createDatabase());
    await writeBaseline(recording, database);
  });

  it.each([pqsLayout, rawJson])('loads every event and complete payloads into $name', async (baseline) => {
    const rows = await rowsOf(baseline, database, recording);
    const { updates, contracts, exercises, active: activeCount } = expected;
    expect(rows.counts).toMatchObject({ updates, contracts, exercises, active: activeCount });
    expect(rows.counts.contents).toMatch(/^-?\d+( -?\d+)*$/);
    const { error, weight } = await runBaseline(server, rows, 'settled');
    expect(error).toBeUndefined();
    expect(weight.heapBytes).toBeGreaterThan(expected.events * 100);
    expect(weight.walBytes).toBeGreaterThan(weight.heapBytes / 2);
    expect(weight.checkpoints).toBeGreaterThan(0);
  });

  it('rejects source tables that differ from the recording', async () => {
    await expect(rowsOf(pqsLayout, database, recording, { ...expected, contracts: 71 })).rejects.toThrow(
      `PQS's layout, rows of the reference: contracts: found 70, expected 71`,
    );
  });

  it.each<[string, Partial<Baseline>, string]>([
    [
      'archives are not loaded',
      { publish: () => 'select' },
      `active: found ${String(expected.contracts)}, expected 30`,
    ],
    [
      'a payload is replaced',
      {
        publish: (last) =>
          `${pqsLayout.publish?.(last) ?? ''};
           update contracts set payload = '{}' where create_event_pk = (select min(create_event_pk) from contracts)`,
      },
      'contents: found',
    ],
  ])('reports a difference if %s', async (_, change, complaint) => {
    const rows = await rowsOf({ ...pqsLayout, ...change }, database, recording);
    expect((await runBaseline(server, rows, 'settled')).error).toContain(complaint);
  });
});

describe('benchmark baseline', () => {
  const preloaded = 1_000;

  it('matches the indexer tables if the recording archives preloaded contracts', async () => {
    const recording = recordHistory(preloaded);
    const template = await preloadedDatabase(server, preloaded);
    const database = await server.createDatabase(template);
    await writeBaseline(recording, database);
    const before = preloadedCounts(preloaded);
    const rows = await rowsOf(pqsLayout, database, recording, {
      ...expected,
      active: expected.active + before.active,
    });
    const { error, weight } = await runBaseline(
      server,
      rows,
      'cycle',
      await baselineDatabase(server, pqsLayout, preloaded),
    );
    expect(error).toBeUndefined();
    expect(weight.fullPages).toBeGreaterThan(0);
  });
});
