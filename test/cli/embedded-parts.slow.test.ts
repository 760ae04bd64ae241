/** Restarts a demo from scratch with an embedded database. Only data of a demo is deleted. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedParts } from '../../src/cli/demo/embedded-parts.ts';
import { sandboxCommand } from '../../src/cli/demo/sandbox.ts';
import { loadConfig } from '../../src/config/config.ts';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { startProgram } from './program.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-anew-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Indexes the ledger of this participant into the embedded database, and adds a journal of an earlier version. */
async function runSandboxIndexer(participantId?: string): Promise<void> {
  await using server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  const sandbox = await startSandbox(participantId === undefined ? {} : { participantId });
  generateHistory(sandbox.ledger, { seed: 3, updates: 30 });
  try {
    await using run = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: server.url, INDEXER_START: 'genesis' });
    await run.reaches(sandbox.ledger.ledgerEnd());
  } finally {
    await sandbox.close();
  }
  await writeFile(journal(), '{"step":1}\n');
}

function journal(): string {
  return join(folder, 'sandbox-1.journal');
}

/** Number of stored updates after the restart from scratch. */
async function countRemainingUpdates(): Promise<number> {
  const config = loadConfig({ INDEXER_DATA_DIR: folder, INDEXER_DEMO_SEED: '1', INDEXER_DEMO_MAX_UPDATES: '5' });
  const { logger } = createLogger({ level: 'error', format: 'json', stream: { write: () => true } });
  const embeddedParts = await startEmbeddedParts(config, logger);
  try {
    const [row] = await query(embeddedParts.databaseUrl, 'select count(*) as n from ledger.updates');
    return Number(row?.['n']);
  } finally {
    await embeddedParts.stop();
  }
}

describe('demo restart', { timeout: 120_000 }, () => {
  it('deletes the data of an earlier demo', async () => {
    await runSandboxIndexer();
    expect(await countRemainingUpdates()).toBe(0);
  });

  it('keeps data that was indexed from another ledger', async () => {
    await runSandboxIndexer('participant::1220real');
    expect(await countRemainingUpdates()).toBe(30);
    expect((await stat(journal())).size).toBeGreaterThan(0);
  });
});

it('run parks if the data folder contains the history of another participant', { timeout: 240_000 }, async () => {
  await using first = await startSandbox({ participantId: 'participant::1220first' });
  await using second = await startSandbox({ participantId: 'participant::1220second' });
  for (const { ledger } of [first, second]) generateHistory(ledger, { seed: 3, updates: 30 });
  const note = (): Promise<string> => readFile(join(folder, 'participant'), 'utf8');
  const until = async (url: string, text: string): Promise<string> => {
    const env = { LEDGER_URL: url, INDEXER_DATA_DIR: folder, INDEXER_HTTP_PORT: '0', INDEXER_LOG_FORMAT: 'json' };
    const running = startProgram(['run'], env);
    await waitFor(text, () => (running.stdout().includes(text) ? true : undefined), 100_000);
    running.signal('SIGTERM');
    return (await running.ended).stdout;
  };
  expect(await until(first.url, '"msg":"live"')).not.toContain('holds the history');
  expect(await note()).toBe(`${new URL(first.url).host}\n`);
  const parked = await until(second.url, '"msg":"parked: an operator is needed"');
  expect(parked).toContain(`data folder holds the history of the participant at ${new URL(first.url).host}`);
  expect(parked).toContain('for another participant set DATABASE_URL, or INDEXER_DATA_DIR to another folder');
  expect(await note()).toBe(`${new URL(first.url).host}\n`);
  expect(await until(first.url, '"msg":"live"')).not.toContain('holds the history');
});

it('demo rejects the data folder of a running demo', { timeout: 120_000 }, async () => {
  await using _server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  // The parent process is used because it is certainly running and is another process.
  await writeFile(join(folder, 'postgres', 'owner.pid'), String(process.ppid));
  await expect(countRemainingUpdates()).rejects.toMatchObject({ code: 'DEMO_RUNNING', exitCode: 78 });
  await expect(stat(journal())).rejects.toMatchObject({ code: 'ENOENT' });
});

it.each([
  ['is a file', () => join(folder, 'file'), 'ENOTDIR'],
  ['is below a file', () => join(folder, 'file', 'below'), 'ENOTDIR'],
  ['cannot be created', () => '/proc/nowhere/at/all', 'ENOENT'],
])('demo rejects a data folder that %s', async (_, getPath, reason) => {
  await writeFile(join(folder, 'file'), '');
  const config = loadConfig({ INDEXER_DATA_DIR: getPath() });
  const { logger } = createLogger({ level: 'silent', format: 'json', stream: process.stdout });
  await expect(startEmbeddedParts(config, logger)).rejects.toMatchObject({
    code: 'DATA_DIR_UNUSABLE',
    exitCode: 78,
    message: expect.stringContaining(reason),
  });
});

it('sandbox rejects an invalid SANDBOX_PORT', async () => {
  const never = new AbortController().signal;
  await expect(
    runCommand(sandboxCommand, ['--speed', '3'], { SANDBOX_PORT: 'abc' }, { stop: never }),
  ).rejects.toMatchObject({ code: 'SANDBOX_PORT_INVALID', exitCode: 78 });
});
