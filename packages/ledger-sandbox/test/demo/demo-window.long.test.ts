/**
 * A demo that runs for days keeps only the newest updates and the active contracts. At a start, it loads a snapshot
 * instead of replaying all updates.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startsOver, startDemoLedger, type DemoLedger, type DemoLedgerOptions } from '../../src/demo/demo-ledger.ts';
import { waitFor } from '../../../../test/support/wait-for.ts';
import { anyParty, stream, updateFormat } from '../server/sockets.ts';

let folder: string;
let journal: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-window-'));
  journal = join(folder, 'journal');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const keepOptions = { offsets: 1_000, tail: 1_000 };
/** Five updates a second. The test sets the clock, so that it can simulate days. */
const perSecond = 5;
const startTime = Date.UTC(2026, 2, 2, 12);

/** Starts the demo that was stopped after `from` updates, and lets it continue to `to` updates. */
async function run(from: number, to: number, overrides: Partial<DemoLedgerOptions> = {}): Promise<DemoLedger> {
  let time = startTime + from * 300;
  const now = (): number => (time += 100_000);
  const options = {
    seed: 9,
    updatesPerSecond: perSecond,
    journal,
    keeps: keepOptions,
    startAt: startTime,
    maxUpdates: to,
    now,
    ...overrides,
  };
  const ledger = await startDemoLedger(options);
  await waitFor('the updates', () => Promise.resolve(ledger.updates() >= to ? true : undefined), 60_000);
  return ledger;
}

async function post(
  url: string,
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

/** All readable data: updates that are not pruned, and active contracts. */
async function readAllContents(
  ledger: DemoLedger,
): Promise<{ readonly updates: readonly string[]; readonly active: readonly string[] }> {
  const [beginExclusive, endInclusive] = [ledger.prunedTo(), ledger.ledgerEnd()];
  const request = { beginExclusive, endInclusive, updateFormat: updateFormat('LEDGER_EFFECTS') };
  const { frames: updates } = await stream(ledger.url, '/v2/updates', request);
  const snapshot = { activeAtOffset: endInclusive, eventFormat: anyParty };
  const { frames: activeFrames } = await stream(ledger.url, '/v2/state/active-contracts', snapshot);
  return { updates, active: activeFrames };
}

describe('a demo that runs for a long time', () => {
  it('keeps no more data after 18,000 updates than after 8,000', async () => {
    const earlyLedger = await run(0, 8_000);
    const stateBefore = await readAllContents(earlyLedger);
    const { size: sizeBefore } = await stat(`${journal}.snapshot`);
    await earlyLedger.close();
    const lateLedger = await run(8_000, 18_000);
    const after = await readAllContents(lateLedger);
    expect(lateLedger.prunedTo()).toBeGreaterThan(earlyLedger.prunedTo());
    expect(lateLedger.ledgerEnd() - lateLedger.prunedTo()).toBeLessThanOrEqual(keepOptions.offsets * 1.1);
    expect(after.updates.length).toBeLessThan(keepOptions.offsets * 1.1);
    expect(after.active.length).toBeLessThan(stateBefore.active.length * 1.3);
    // The snapshot contains the complete state of the demo.
    const { size } = await stat(`${journal}.snapshot`);
    expect(size).toBeLessThan(sizeBefore * 1.3);
    expect((await stat(journal)).size).toBeLessThan(1_000);
    const prunedStream = await stream(lateLedger.url, '/v2/updates', {
      beginExclusive: 0,
      updateFormat: updateFormat('ACS_DELTA'),
    });
    expect(prunedStream.frames.join()).toContain('PARTICIPANT_PRUNED_DATA_ACCESSED');
    await lateLedger.close();
  });

  it('continues from a snapshot exactly as it would without one', async () => {
    const restartLedger = async (tail: number): Promise<Awaited<ReturnType<typeof readAllContents>>> => {
      const overrides = { keeps: { ...keepOptions, tail } };
      await (await run(0, 3_400, overrides)).close();
      const ledger = await run(3_400, 4_800, overrides);
      const ledgerContents = await readAllContents(ledger);
      await ledger.close();
      return ledgerContents;
    };
    const loadedLedger = await restartLedger(keepOptions.tail);
    const head = /"steps":(\d+)/.exec(await readFile(`${journal}.snapshot`, 'latin1'))?.[1];
    expect(Number(head)).toBeGreaterThan(4_000);
    // This is the same demo, but it is replayed from its beginning at every start.
    journal = join(folder, 'another');
    expect(await restartLedger(Infinity)).toEqual(loadedLedger);
  });
});

describe('a snapshot of a demo', () => {
  const quietOptions = {
    seed: 9,
    updatesPerSecond: 0,
    startAt: startTime,
    maxUpdates: 300,
    keeps: { offsets: 1_000, tail: 2 },
  };
  const start = (): Promise<DemoLedger> => startDemoLedger({ ...quietOptions, journal });
  const submit = (
    ledger: DemoLedger,
    commandId: string,
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const owner = 'alice::1220aa';
    const createArguments = { issuer: owner, owner, amount: '1.0' };
    const commands = [{ CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } }];
    return post(ledger.url, '/v2/commands/submit-and-wait', { commands, commandId, userId: 'tester', actAs: [owner] });
  };

  it('contains all actions of clients, in every generation of the journal', async () => {
    let ledger = await start();
    for (let updateCount = 0; updateCount < 12; updateCount += 1) {
      expect((await submit(ledger, `command-${String(updateCount)}`)).text).toContain('updateId');
      if (updateCount % 5 !== 4) continue;
      const ledgerContents = await readAllContents(ledger);
      await ledger.close();
      ledger = await start();
      expect(await readAllContents(ledger)).toEqual(ledgerContents);
    }
    // A change that was made before the snapshot is still effective.
    expect((await submit(ledger, 'command-0')).text).toContain('DUPLICATE_COMMAND');
    await ledger.close();
  });

  it.each([
    ['before the snapshot has replaced the old one', '.snapshot.tmp'],
    ['between the snapshot and its journal', '.tmp'],
  ])('keeps all actions of clients if the process ends %s', async (_, blockedMethod) => {
    const first = await start();
    await submit(first, 'first');
    await submit(first, 'second');
    const ledgerContents = await readAllContents(first);
    // If a file cannot be created, the current action stops at that point, as if the process had been killed.
    await rm(`${journal}${blockedMethod}`, { force: true });
    await mkdir(`${journal}${blockedMethod}`);
    expect((await submit(first, 'third')).status).toBe(500);
    await first.close();
    await rmdir(`${journal}${blockedMethod}`);
    await writeFile(`${journal}${blockedMethod}`, 'half of it');
    const second = await start();
    expect(await readAllContents(second)).toEqual(ledgerContents);
    expect((await submit(second, 'third')).text).toContain('updateId');
    const laterContents = await readAllContents(second);
    await second.close();
    const thirdLedger = await start();
    expect(await readAllContents(thirdLedger)).toEqual(laterContents);
    await thirdLedger.close();
  });

  it('is ignored if it belongs to another demo', async () => {
    const first = await start();
    for (const command of ['a', 'b', 'c', 'd']) await submit(first, command);
    await first.close();
    await copyFile(`${journal}.snapshot`, join(folder, 'stale'));
    await rm(journal);
    const second = await startDemoLedger({ ...quietOptions, journal, startAt: startTime + 60_000 });
    const ledgerContents = await readAllContents(second);
    await second.close();
    await copyFile(join(folder, 'stale'), `${journal}.snapshot`);
    const thirdLedger = await start();
    expect(await readAllContents(thirdLedger)).toEqual(ledgerContents);
    await thirdLedger.close();
  });

  it('stops the demo if it cannot be read or if another version wrote it', async () => {
    const first = await start();
    for (const command of ['a', 'b', 'c', 'd']) await submit(first, command);
    await first.close();
    expect(startsOver(journal)).toBe(false);
    const text = await readFile(`${journal}.snapshot`);
    await writeFile(
      `${journal}.snapshot`,
      Buffer.from(text.toString('latin1').replace('"snapshot":', '"snapshot":9'), 'latin1'),
    );
    expect(startsOver(journal)).toBe(true);
    await rm(`${journal}.snapshot`);
    expect(startsOver(journal)).toBe(true);
  });
});
