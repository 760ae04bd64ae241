/** A demo that ends at a given update, its journal, a package upgrade in its history, and injected faults. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startChaos, type ChaosFault } from '../../src/demo/chaos.ts';
import { startsOver, startDemoLedger, type DemoLedgerOptions } from '../../src/demo/demo-ledger.ts';
import type { Faults } from '../../src/faults/faults.ts';
import { Random } from '../../src/wire/random.ts';
import { waitFor } from '../../../../test/support/wait-for.ts';
import { playedLedger } from './demo-world.ts';
import { stream, updateFormat } from '../server/sockets.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-journal-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Runs a demo until it has recorded all its updates. Returns a digest of the frames that a reader receives. */
async function digestOf(options: DemoLedgerOptions & { readonly maxUpdates: number }): Promise<string> {
  const ledger = await startDemoLedger(options);
  try {
    await waitFor(
      'the last update',
      () => Promise.resolve(ledger.updates() >= options.maxUpdates ? true : undefined),
      60_000,
    );
    expect(ledger.updates()).toBe(options.maxUpdates);
    const request = {
      beginExclusive: 0,
      endInclusive: ledger.ledgerEnd(),
      updateFormat: updateFormat('LEDGER_EFFECTS'),
    };
    const { frames } = await stream(ledger.url, '/v2/updates', request);
    return createHash('sha256').update(frames.join('\n')).digest('hex');
  } finally {
    await ledger.close();
  }
}

/** Live traffic begins one minute before now, so that the test does not wait for it. */
const startAt = (): number => Date.now() - 60_000;

describe('a demo that ends at a given update', () => {
  it('generates the same updates, including live ones, for the same seed and start time', async () => {
    const options = { seed: 5, updatesPerSecond: 10, maxUpdates: 900, startAt: startAt() };
    const first = await digestOf(options);
    expect(await digestOf(options)).toBe(first);
    expect(await digestOf({ ...options, seed: 6 })).not.toBe(first);
  }, 120_000);

  it('upgrades the licensing package in the middle of its history', async () => {
    const ledger = await startDemoLedger({ seed: 5, updatesPerSecond: 20, maxUpdates: 1_800, startAt: startAt() });
    try {
      await waitFor('the end', () => Promise.resolve(ledger.updates() >= 1_800 ? true : undefined), 60_000);
      const request = { beginExclusive: 0, endInclusive: ledger.ledgerEnd(), updateFormat: updateFormat('ACS_DELTA') };
      const { frames } = await stream(ledger.url, '/v2/updates', request);
      const licenses =
        frames.join('\n').match(/"templateId":"[0-9a-f]{64}:Licensing\.License:License","contractKey"/g) ?? [];
      expect(new Set(licenses).size).toBe(2);
      expect(frames.join('\n')).toContain('"seats":"25"');
    } finally {
      await ledger.close();
    }
  }, 120_000);
});

describe('the journal of a demo', () => {
  it('does not grow with the traffic, and replays the same history', async () => {
    const journal = join(folder, 'journal');
    const options = { seed: 5, updatesPerSecond: 20, maxUpdates: 1_500, startAt: startAt(), journal };
    const first = await digestOf(options);
    const { size } = await stat(journal);
    expect(size).toBeLessThan(400);
    expect(await readFile(journal, 'utf8')).toContain('1500');
    expect(await digestOf(options)).toBe(first);
  }, 120_000);

  it('is discarded if another version wrote it', async () => {
    const journal = join(folder, 'journal');
    const firstLine = '{"seed":1,"startAt":0,"hours":1,"planned":1,"most":1,"generation":0}';
    expect(startsOver(journal)).toBe(false);
    await writeFile(journal, `{"demo":6,"steps":"       59000"}\n${firstLine}\n`);
    expect(startsOver(journal)).toBe(false);
    await writeFile(journal, `{"demo":5,"steps":"       59000"}\n${firstLine}\n`);
    expect(startsOver(journal)).toBe(true);
    await writeFile(journal, '{"step":1790000000000000}\n');
    expect(startsOver(journal)).toBe(true);
  });
});

describe('injected faults of a demo', () => {
  it('drop sockets, stall streams, prune the ledger and slow down the database, and all end', async () => {
    const ledger = playedLedger(5_500);
    const faults: Faults = {};
    const seenFaults = new Set<ChaosFault>();
    let slowed = 0;
    const slowDatabase = (ms: number): Promise<void> => {
      slowed += ms;
      return Promise.reject(new Error('gone'));
    };
    const report = (fault: ChaosFault): void => {
      seenFaults.add(fault);
    };
    const chaosHandle = startChaos({
      sandbox: { faults, ledger },
      random: new Random(1),
      slowDatabase,
      report,
      everyMs: [5, 10],
    });
    await waitFor('every trouble', () => Promise.resolve(seenFaults.size === 4 ? true : undefined));
    expect(slowed).toBeGreaterThan(0);
    expect(ledger.prunedTo()).toBeGreaterThan(0);
    chaosHandle();
    expect(faults).toEqual({ cut: undefined, stall: undefined });
  });
});
