/**
 * Tests lists of active contracts that a gateway ends early with a normal close. An incomplete list is never treated as
 * complete.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { CuttingGateway, listPath, type PassingFrame } from '../support/cutting-gateway.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { waitUntilParked, retriesFor } from './fault-world.ts';

let sandbox: Sandbox;
let gateway: CuttingGateway;
let database: TestDatabase;

/** Starts a ledger and the gateway in front of it. */
async function openWorld(options: SandboxOptions, updates: number): Promise<void> {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 }, ...options });
  if (updates > 0) generateHistory(sandbox.ledger, { seed: 31, updates });
  gateway = await CuttingGateway.before(sandbox.url);
}

beforeEach(async () => {
  database = await createMigratedDatabase();
});
afterEach(async () => {
  await gateway[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
});

function index(schema = 'ledger', url = gateway.url): Promise<IndexerRun> {
  return runIndexer({
    LEDGER_URL: url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    INDEXER_BATCH_UPDATES: '5',
  });
}

async function isLive(indexer: IndexerRun): Promise<void> {
  await waitFor('the seed', async () => ((await indexer.status()).state === 'live' ? true : undefined));
}

/** Expects the rows that are stored without the gateway. */
async function expectComplete(): Promise<void> {
  await using reference = await index('fresh', sandbox.url);
  await isLive(reference);
  expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'fresh'));
}

const readPublished = async (): Promise<unknown> =>
  (await query(database.url, 'select seeded_at is not null as published from ledger.stream'))[0]?.['published'];

const countActive = (): number => [...sandbox.ledger.activeAt(sandbox.ledger.ledgerEnd())].length;

describe('a truncated list with continuation tokens', () => {
  beforeEach(() => openWorld({}, 150));

  it('is resumed after each early close, and published when it is complete', async () => {
    gateway.cuts = ({ path, frames }) => path === listPath && frames === 10;
    await using indexer = await index();
    await isLive(indexer);
    const maxCuts = Math.floor(countActive() / 10);
    expect(maxCuts).toBeGreaterThan(3);
    expect(retriesFor(indexer, 'LEDGER_STREAM_TRUNCATED')).toBeGreaterThanOrEqual(maxCuts - 1);
    await expectComplete();
  });

  it('parks the indexer and is not published if it makes no progress', async () => {
    gateway.cuts = ({ path }) => path === listPath;
    await using indexer = await index();
    const { code, remedy } = await waitUntilParked(indexer);
    expect(code).toBe('LEDGER_STREAM_TRUNCATED');
    expect(remedy).toContain('gateway');
    expect(await readPublished()).toBe(false);
  });

  it.each([
    ['every stream before its first entry', (): boolean => true],
    ['every later stream before its first entry', ({ opened: openedCount }: PassingFrame): boolean => openedCount > 0],
  ])('parks the indexer if HTTP returns no list and the gateway closes %s', async (_, closes) => {
    gateway.listAnswer = 404;
    gateway.cuts = (frameCut) => frameCut.path === listPath && frameCut.frames === 0 && closes(frameCut);
    await using indexer = await index();
    const { code, remedy } = await waitUntilParked(indexer);
    expect([code, remedy]).toEqual(['SEED_UNVERIFIED', expect.stringContaining('POST /v2/state/active-contracts')]);
    expect(await readPublished()).toBe(false);
  });

  it('is not read again after a crash before the completeness check', async () => {
    gateway.listAnswer = 503;
    {
      await using indexer = await index();
      await waitFor('the check is requested', () => (retriesFor(indexer, 'LEDGER_UNAVAILABLE') > 0 ? true : undefined));
      expect(await readPublished()).toBe(false);
    }
    gateway.listAnswer = undefined;
    const first = gateway.lists[0]?.activeAtOffset ?? 0;
    await using indexer = await index();
    await isLive(indexer);
    expect(gateway.lists.filter(({ streamContinuationToken }) => streamContinuationToken === undefined)).toHaveLength(
      1,
    );
    expect(gateway.lists.map(({ activeAtOffset }) => activeAtOffset)).toEqual(gateway.lists.map(() => first));
    await expectComplete();
  });
});

describe('a list without continuation tokens', () => {
  it('is read again after each early close', async () => {
    await openWorld({ release: '3.4' }, 150);
    gateway.cuts = ({ path, frames, opened: openedCount }) => path === listPath && frames === 10 && openedCount < 3;
    await using indexer = await index();
    await isLive(indexer);
    expect(retriesFor(indexer, 'LEDGER_STREAM_TRUNCATED')).toBe(3);
    await expectComplete();
  });

  it('parks the indexer and is not published if every reading ends early', async () => {
    await openWorld({ release: '3.4' }, 150);
    gateway.cuts = ({ path, frames }) => path === listPath && frames === 10;
    await using indexer = await index();
    const { code, message } = await waitUntilParked(indexer);
    expect([code, message]).toEqual(['LEDGER_STREAM_TRUNCATED', expect.stringContaining('one reading has 10 entries')]);
    expect(await readPublished()).toBe(false);
  });

  it('parks the indexer if a byte limit ends each reading at another entry', async () => {
    await openWorld({ release: '3.4' }, 900);
    expect(countActive()).toBeGreaterThan(230);
    const maxListBytes = 200 * 1500;
    gateway.cuts = ({ path, bytes }) => path === listPath && bytes > maxListBytes;
    {
      await using indexer = await index();
      expect((await waitUntilParked(indexer)).message).toMatch(/one reading has 2\d\d entries, another one \d+/);
      expect(await readPublished()).toBe(false);
    }
    gateway.cuts = () => false;
    await using indexer = await index();
    await isLive(indexer);
    await expectComplete();
  });

  it('is confirmed by repeated requests without being read again', async () => {
    await openWorld({ release: '3.4' }, 150);
    gateway.listAnswer = 503;
    await using indexer = await index();
    await waitFor('two questions', () => (gateway.refused > 1 ? true : undefined));
    gateway.listAnswer = undefined;
    await isLive(indexer);
    expect(gateway.lists).toHaveLength(1);
    await expectComplete();
  });

  it('is published after the stream has closed twice before any entry', async () => {
    await openWorld({}, 150);
    gateway.cuts = ({ path, opened: openedCount }) => path === listPath && openedCount < 2;
    await using indexer = await index();
    await isLive(indexer);
    expect(retriesFor(indexer, 'LEDGER_STREAM_TRUNCATED')).toBe(2);
    await expectComplete();
  });
});
