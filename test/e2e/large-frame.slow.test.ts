/**
 * Without LEDGER_MAX_FRAME_BYTES, the memory of the process determines the size limit of frames. The process survives
 * frames that are larger.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frameLimitFor } from '../../src/config/config.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { created, transaction } from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { startDaemon } from './runs/daemon.ts';

let database: TestDatabase;
let sandbox: Sandbox;
beforeEach(async () => {
  database = await createTestDatabase();
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

/**
 * Appends an update of about this many megabytes. One character outside of Latin-1 makes the text need two bytes per
 * character.
 */
function append(megabytes: number): number {
  const offset = sandbox.ledger.ledgerEnd() + 1;
  const event = (nodeId: number): object => ({
    CreatedEvent: created({
      offset,
      nodeId,
      contractId: `00${offset}-${nodeId}`,
      interfaceViews: [],
      createArgument: { text: `${nodeId === 0 ? '✓' : ''}${'x'.repeat(9_400)}` },
    }),
  });
  sandbox.ledger.appendRaw(
    transaction(offset, Array.from({ length: megabytes * 100 }, (_, index) => event(index)) as never),
  );
  return offset;
}

it('indexer with a 96 MiB heap stores a 15 MB frame and parks at an 80 MB frame', { timeout: 180_000 }, async () => {
  const env = { INDEXER_START: 'genesis', NODE_OPTIONS: '--max-old-space-size=96' };
  await using daemon = startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema: 'ledger', env });
  const storedOffset = append(15);
  const http = await daemon.http();
  const exitText = (): Promise<string> => daemon.exited.then(({ code, signal }) => `it ended: ${code ?? signal ?? ''}`);
  const waitForSeen = async (subject: string, test: () => Promise<boolean>): Promise<unknown> =>
    Promise.race([exitText(), waitFor(subject, async () => ((await test()) ? subject : undefined), 80_000)]);
  const hasReached = async (): Promise<boolean> => {
    const rows = await query(database.url, 'select checkpoint from ledger.stream').catch(() => []);
    return Number(rows[0]?.['checkpoint']) >= storedOffset;
  };
  expect(await waitForSeen('stored', hasReached)).toBe('stored');
  append(80);
  const isParked = async (): Promise<boolean> => {
    // If the process has ended, `exited` settles instead.
    const response = await fetch(`${http}/status`).catch(() => undefined);
    return ((await response?.json()) as { state: string } | undefined)?.state === 'parked';
  };
  expect(await waitForSeen('parked', isParked)).toBe('parked');
  // The log line comes through a pipe, so it may arrive after the response.
  await waitFor('a line with the reason', () => daemon.output().includes('LEDGER_FRAME_TOO_LARGE') || undefined);
});

describe('frameLimitFor()', () => {
  const mebibyte = 1024 ** 2;
  it.each([
    [24_000, 4_144, 256],
    [1_024, 4_144, 154],
    [512, 432, 68],
    [4_096, 144, 26],
    [64, 144, 1],
  ])('limits frames for %d MiB of memory and %d MiB of heap to %d MiB', (memory, heap, largestFrame) => {
    expect(frameLimitFor({ memory: memory * mebibyte, heap: heap * mebibyte })).toBe(largestFrame * mebibyte);
  });
});
