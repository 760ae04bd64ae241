/** Runs with an end offset. They store exactly the history up to it, even if they are killed in the middle. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { program, startProgram, type ProcessResult } from './program.ts';

let sandbox: Sandbox;
let database: TestDatabase;
/** Last offset of the first part of the history. */
let stop: number;
beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 21, updates: 200 });
  stop = sandbox.ledger.ledgerEnd();
  database = await createMigratedDatabase(['ledger', 'prefix']);
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

/** Adds updates after `stop`. */
function growLedger(): void {
  generateHistory(sandbox.ledger, { seed: 22, updates: 150, startAt: Date.parse('2026-02-01T08:00:00Z') });
}

function env(schema: string): Record<string, string> {
  return {
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    INDEXER_HTTP_PORT: '0',
    INDEXER_BATCH_UPDATES: '5',
  };
}

async function bounded(schema: string, ...args: readonly string[]): Promise<ProcessResult> {
  const processResult = await program(args, env(schema));
  expect(processResult.code, processResult.stdout.slice(-1_000) + processResult.stderr).toBe(0);
  return processResult;
}

async function checkpoint(schema: string): Promise<number> {
  const [row] = await query(
    database.url,
    `select checkpoint, (select max("offset") from ${schema}.updates) as newest from ${schema}.stream`,
  );
  expect(Number(row?.['newest'])).toBeLessThanOrEqual(Number(row?.['checkpoint']));
  return Number(row?.['checkpoint']);
}

/** Digests of the stored history, by start option. The sandbox of each test has the same history. */
const digests = new Map<string, string>();

/** Digest of the first part of the history, stored by a run without an end on a ledger that has only this part. */
async function digestOfFirstPart(start: string): Promise<string> {
  const cachedDigest = digests.get(start);
  if (cachedDigest !== undefined) return cachedDigest;
  const endlessProgram = startProgram(['run', '--start', start], env('prefix'));
  try {
    await waitForOffset('prefix', stop);
  } finally {
    endlessProgram.signal('SIGTERM');
    await endlessProgram.ended;
  }
  const digest = await digestOf(database.url, 'prefix');
  digests.set(start, digest);
  return digest;
}

async function waitForOffset(schema: string, offset: number): Promise<void> {
  await waitFor(
    `checkpoint ${offset} of ${schema}`,
    async () => {
      const rows = await query(database.url, `select checkpoint from ${schema}.stream`).catch(() => []);
      return Number(rows[0]?.['checkpoint']) >= offset ? true : undefined;
    },
    60_000,
  );
}

describe('run --stop-at', { timeout: 240_000 }, () => {
  it('stores all updates up to the offset, none after the offset, and exits with 0', async () => {
    const expectedDigest = await digestOfFirstPart('genesis');
    growLedger();
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', String(stop));
    expect(await checkpoint('ledger')).toBe(stop);
    expect(await digestOf(database.url, 'ledger')).toBe(expectedDigest);
  });

  it('stores the same rows after repeated SIGKILLs as an uninterrupted run', async () => {
    const expectedDigest = await digestOfFirstPart('genesis');
    growLedger();
    sandbox.faults.slowFrames = { delayMs: 5, path: '/v2/updates' };
    for (const offset of [30, 90, 150]) {
      const runningProgram = startProgram(['run', '--start', 'genesis', '--stop-at', String(stop)], env('ledger'));
      await waitForOffset('ledger', offset);
      runningProgram.signal('SIGKILL');
      expect((await runningProgram.ended).code).toBeNull();
    }
    sandbox.faults.slowFrames = undefined;
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', String(stop));
    expect(await digestOf(database.url, 'ledger')).toBe(expectedDigest);
  });

  it('stores all rows if the server closes the stream early with code 1000', async () => {
    const expectedDigest = await digestOfFirstPart('genesis');
    growLedger();
    sandbox.faults.close = { code: 1000, afterFrames: 40, times: 3, path: '/v2/updates' };
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', String(stop));
    expect(sandbox.faults.close).toBeUndefined();
    expect(await digestOf(database.url, 'ledger')).toBe(expectedDigest);
  });

  it('stores all rows if the server closes the stream before the first frame', async () => {
    const expectedDigest = await digestOfFirstPart('genesis');
    growLedger();
    sandbox.faults.close = { code: 1000, afterFrames: 0, times: 2, path: '/v2/updates' };
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', String(stop));
    expect(sandbox.faults.close).toBeUndefined();
    expect(await digestOf(database.url, 'ledger')).toBe(expectedDigest);
  });

  it('seeds at the stop offset when the ledger end is already later', async () => {
    const expectedDigest = await digestOfFirstPart('seed');
    growLedger();
    await bounded('ledger', 'run', '--stop-at', String(stop));
    const [row] = await query(database.url, 'select seed_offset, checkpoint from ledger.stream');
    expect(row).toMatchObject({ seed_offset: String(stop), checkpoint: String(stop) });
    expect(await digestOf(database.url, 'ledger')).toBe(expectedDigest);
  });

  it('waits until the ledger reaches the offset, and stores nothing after the offset', async () => {
    const runningProgram = startProgram(['run', '--start', 'genesis', '--stop-at', String(stop + 20)], env('ledger'));
    await waitForOffset('ledger', stop);
    growLedger();
    expect(await runningProgram.ended).toMatchObject({ code: 0 });
    expect(await checkpoint('ledger')).toBe(stop + 20);
  });

  it('counts no database time and no token renewals while it waits for the ledger', async () => {
    await using run = await runIndexer({
      ...env('ledger'),
      INDEXER_START: 'genesis',
      INDEXER_STOP_AT: String(stop + 1_000),
    });
    await run.reaches(stop);
    const onDatabase = (): Promise<number> => run.metric('indexer_stream_seconds_total{activity="database"}');
    const connectionsBefore = await onDatabase();
    await pause(1_500);
    expect((await onDatabase()) - connectionsBefore).toBeLessThan(0.5);
    growLedger();
    await run.reaches(stop + 50);
    expect(await run.metric('indexer_access_token_renewals_total')).toBe(0);
  });

  it('stores all updates up to the ledger end at startup if the value is "end"', async () => {
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', 'end');
    expect(await checkpoint('ledger')).toBe(stop);
    await bounded('ledger', 'run', '--stop-at', String(stop));
  });

  it('rejects an offset before the checkpoint and names the reset command', async () => {
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', 'end');
    const processResult = await program(['run', '--stop-at', '100'], env('ledger'));
    expect(processResult.code).toBe(78);
    expect(processResult.stderr).toContain('STOP_AT_REFUSED');
    expect(processResult.stderr).toContain('reset --to 100');
  });

  it('stores the same rows in two consecutive runs as in one run', async () => {
    await bounded('ledger', 'run', '--start', 'genesis', '--stop-at', '123');
    await bounded('ledger', 'run', '--stop-at', String(stop));
    await bounded('whole', 'run', '--start', 'genesis', '--stop-at', String(stop));
    expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'whole'));
  });
});

describe('backfill', { timeout: 240_000 }, () => {
  it('stores a range, extends the range to a later --to, and exits with 0 when repeated', async () => {
    await bounded('ledger', 'backfill', '--from', '0', '--to', '100');
    await bounded('ledger', 'backfill', '--from', '0', '--to', '200');
    expect(await checkpoint('ledger')).toBe(200);
    await bounded('ledger', 'backfill', '--from', '0', '--to', '200');
  });

  it('stores the range from the oldest available offset to the ledger end by default', async () => {
    sandbox.ledger.pruneTo(50);
    await bounded('ledger', 'backfill');
    const [row] = await query(database.url, 'select seed_offset, checkpoint from ledger.stream');
    expect(row).toMatchObject({ seed_offset: '50', checkpoint: String(stop) });
  });

  it('rejects a range that would leave a gap or begin before stored history', async () => {
    await bounded('ledger', 'backfill', '--from', '100', '--to', '200');
    for (const [from, expectedReason] of [
      ['300', 'leave a gap'],
      ['10', 'cannot be added before'],
      ['oldest', 'cannot be added before'],
    ] as const) {
      const processResult = await program(['backfill', '--from', from, '--to', '310'], env('ledger'));
      expect(processResult.code).toBe(78);
      expect(processResult.stderr).toContain('BACKFILL_REFUSED');
      expect(processResult.stderr).toContain(expectedReason);
      expect(processResult.stderr).toContain('--postgres-schema');
    }
    expect(await checkpoint('ledger')).toBe(200);
    const reversedRange = await program(['backfill', '--from', '400', '--to', '300'], env('other'));
    expect(reversedRange).toMatchObject({ code: 78 });
    for (const [flag, value] of [
      ['--from', 'seed'],
      ['--from', 'x'],
      ['--to', '-1'],
    ] as const) {
      const misuseResult = await program(['backfill', flag, value], env('other'));
      expect(misuseResult.code).toBe(2);
      expect(misuseResult.stderr).toContain(`${flag} takes`);
    }
  });
});

it.each([
  [{ LEDGER_TOKEN_FILE: '/nonexistent/token' }, 78, 'LEDGER_TOKEN_UNREADABLE'],
  [{ LEDGER_URL: 'http://127.0.0.1:9' }, 69, 'LEDGER_UNREACHABLE'],
])(
  'backfill with %j exits with an error after INDEXER_PROGRESS_TIMEOUT',
  { timeout: 60_000 },
  async (wrong, code, name) => {
    const limits = { INDEXER_PROGRESS_TIMEOUT: '1s', INDEXER_RETRY_MAX_DELAY: '500ms' };
    const ended = await program(['backfill'], { ...env('ledger'), ...limits, ...wrong });
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringContaining(name)]);
    expect(ended.stdout + ended.stderr).toContain('(INDEXER_PROGRESS_TIMEOUT)');
  },
);
