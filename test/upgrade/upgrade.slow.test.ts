/**
 * The recorded database of a release, upgraded by a newer version: rows before and after, for the owner and for a
 * limited reader; the stream that continues; and the refusal of a downgrade.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon } from '../e2e/runs/daemon.ts';
import { watchStored } from '../e2e/runs/stored.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { contentsOf, differing } from './contents.ts';
import { migrationTests, newerMigrationTest } from './migration-tests.ts';
import { createNewerBuild, type NewerBuild } from './newer-build.ts';
import {
  readRecording,
  recordedEnv,
  replayLedger,
  restoreRecording,
  type ReplayedLedger,
  type RestoredDatabase,
} from './recording.ts';

const recording = readRecording();
const currentProgram = `${process.cwd()}/dist/main.js`;

/**
 * Relations whose rows follow from the history alone, for the comparison with a database that was indexed at once. All
 * others also depend on packages and completions, which are read in the background, and on what the operator did.
 */
const ofHistory =
  /^(?:ledger\.(?:updates|contracts|live|ended|exercises|archives|interface_views|reassignments|topology_events|\w+_parties|templates|choices|synchronizers|lifetimes|contract_states|active_counts|activity_hourly|stream|coverage)|explore\.(?:token_(?!locks)\w+|contracts|active_contracts|events|reassignments|parties|party_activity|amulet_transfers|traffic_purchases))$/;

/** Columns that describe the process that wrote the rows. */
const ofProcess: readonly string[] = [
  ...['epoch', 'writer', 'seeded_at', 'ledger_end', 'participant_pruned_offset'].map((name) => `ledger.stream.${name}`),
  'ledger.updates.batch_offset',
  'ledger.coverage.recorded_at',
];

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs a command of a build to its end. */
async function run(program: string, databaseUrl: string, ...argv: readonly string[]): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: databaseUrl,
    LEDGER_URL: ledger.url,
    ...recordedEnv(recording),
  };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...argv], { env });
    return { code: 0, output: stdout + stderr };
  } catch (thrown) {
    const { code, stdout, stderr } = thrown as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

let newer: NewerBuild;
let restored: RestoredDatabase;
let ledger: ReplayedLedger;
beforeAll(async () => {
  newer = createNewerBuild();
  restored = await restoreRecording();
  ledger = await replayLedger(recording);
});
afterAll(async () => {
  await ledger[Symbol.asyncDispose]();
  await restored[Symbol.asyncDispose]();
  newer[Symbol.dispose]();
});

describe('the recorded database', () => {
  it('has rows of every kind', async () => {
    const contents = await contentsOf(restored.url);
    const tables = [
      ['updates', 'contracts', 'live', 'ended', 'exercises', 'interface_views', 'reassignments', 'topology_events'],
      ['completions', 'webhooks', 'webhook_secrets', 'reader_tokens', 'party_labels', 'retention_holds'],
      ['user_projections'],
    ];
    const views = ['token_balances', 'token_transfers', 'token_locks', 'traffic_purchases'].map(
      (view) => `explore.${view}`,
    );
    const names = [...tables.flat().map((table) => `ledger.${table}`), ...views, 'derived.created_contracts'];
    expect(names.filter((name) => (contents.get(name)?.rows ?? 0) === 0)).toEqual([]);
  });
});

describe('an upgrade of the recorded database', () => {
  it('keeps the rows of all tables and views, and adds what the new migrations compute', async () => {
    const urls = [restored.url, restored.readerUrl];
    const before = await Promise.all(urls.map((url) => contentsOf(url)));
    const { code, output } = await run(newer.program, restored.url, 'migrate');
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining(`applied ${newer.migration}`) as unknown,
    });
    for (const [index, url] of urls.entries()) {
      const contents = before[index] ?? new Map();
      expect(contents.size).toBeGreaterThan(50);
      const reader = index === 0 ? 'the owner' : 'the limited reader';
      expect(differing(await contentsOf(url, contents), contents), reader).toEqual([]);
    }
    const tests = [...Object.entries(migrationTests), [newer.migration, newerMigrationTest] as const];
    for (const [id, test] of tests) {
      const { found, expected } = await test(restored.url, recording);
      expect(found, id).toEqual(expected);
    }
  });

  it('lets a limited reader read the new table through the rewritten view', async () => {
    const [row] = await query(
      restored.readerUrl,
      'select updates_before_upgrade::int as updates from explore.participants',
    );
    expect(row?.['updates']).toBeGreaterThan(100);
  });

  it('refuses the older version, and changes nothing', async () => {
    const before = await contentsOf(restored.url);
    const env = recordedEnv(recording);
    await using daemon = startDaemon({ ledgerUrl: ledger.url, databaseUrl: restored.url, schema: 'ledger', env });
    expect(await daemon.exited).toEqual({ code: 78, signal: null });
    const remedy = 'restore the backup made before the upgrade';
    expect(daemon.output()).toContain(`holds migrations this program does not know: ${newer.migration}`);
    expect(daemon.output()).toContain(remedy);
    for (const argv of [['migrate'], ['prune', '--before', '1', '--yes'], ['verify', '--invariants']]) {
      const { code, output } = await run(currentProgram, restored.url, ...argv);
      expect({ argv, code, output }).toMatchObject({ code: 78, output: expect.stringContaining(remedy) as unknown });
    }
    expect(differing(await contentsOf(restored.url, before), before)).toEqual([]);
  });

  it('continues the stream, with the same rows as an index from the beginning', async () => {
    await using fresh = await createTestDatabase();
    await using stored = await watchStored(restored.url);
    await using freshlyStored = await watchStored(fresh.url);
    const start = (databaseUrl: string) =>
      startDaemon({
        ledgerUrl: ledger.url,
        databaseUrl,
        schema: 'ledger',
        env: recordedEnv(recording),
        program: newer.program,
      });
    ledger.grow();
    const upgraded = start(restored.url);
    await stored.reaches(upgraded, 'ledger', recording.ledgerEnd);
    const scratch = start(fresh.url);
    await freshlyStored.reaches(scratch, 'ledger', recording.ledgerEnd);
    for (const daemon of [upgraded, scratch]) {
      daemon.signal('SIGTERM');
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
    }
    expect(
      (await run(newer.program, fresh.url, 'prune', '--before', String(recording.prunedToOffset), '--yes')).code,
    ).toBe(0);
    // Its rows are of the time of the upgrade, and the other schema was migrated while it was empty.
    await query(restored.url, 'delete from ledger.update_totals');
    const expected = await contentsOf(fresh.url, undefined, (name) => ofHistory.test(name), ofProcess);
    expect(expected.size).toBeGreaterThan(35);
    expect(differing(await contentsOf(restored.url, expected), expected)).toEqual([]);
    // The second decoder of verify shares no code with the writer.
    const { code, output } = await run(
      newer.program,
      restored.url,
      'verify',
      '--invariants',
      '--acs',
      '--tail',
      '1000',
      '--projections',
    );
    expect({ code, output }).toMatchObject({ code: 0 });
  });
});
