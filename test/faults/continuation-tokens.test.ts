/**
 * Tests the continuation tokens of an interrupted seed. With a valid token, the seed resumes at the same offset, after
 * the last commit. An invalid token is discarded with all entries that were read before it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { CuttingGateway, listPath } from '../support/cutting-gateway.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { waitUntilParked, retriesFor } from './fault-world.ts';

let sandbox: Sandbox;
let gateway: CuttingGateway;
let database: TestDatabase;

beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 31, updates: 150 });
  gateway = await CuttingGateway.before(sandbox.url);
  database = await createMigratedDatabase();
});
afterEach(async () => {
  await gateway[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
});

const env = (extraEnv: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  LEDGER_URL: gateway.url,
  DATABASE_URL: database.url,
  INDEXER_BATCH_UPDATES: '5',
  ...extraEnv,
});

interface InterruptedSeed {
  readonly offset: number;
  readonly token: string;
  readonly entries: number;
}

async function interruptSeed(): Promise<InterruptedSeed> {
  const [row] = await query(
    database.url,
    'select seed_offset, seed_token, seed_contracts from ledger.stream where seeded_at is null',
  );
  return {
    offset: Number(row?.['seed_offset']),
    token: String(row?.['seed_token']),
    entries: Number(row?.['seed_contracts']),
  };
}

/** Begins a seed and stops it in the middle. */
async function beginSeed(): Promise<InterruptedSeed> {
  sandbox.faults.stall = { path: listPath, afterFrames: 18 };
  {
    await using _indexer = await runIndexer(env());
    await waitFor('some of the seed', async () => {
      const rows = await query(database.url, 'select seed_contracts as n from ledger.stream').catch(() => []);
      return Number(rows[0]?.['n']) >= 15 ? true : undefined;
    });
  }
  // A stream that is still open would consume the next fault.
  await waitFor('the end of the stream', () => (gateway.passing === 0 ? true : undefined));
  sandbox.faults.stall = undefined;
  return interruptSeed();
}

/** Adds updates to the ledger: contracts of the seed end, and new ones begin. */
function growLedger(): void {
  generateHistory(sandbox.ledger, { seed: 32, updates: 60, startAt: Date.parse('2026-02-01T08:00:00Z') });
}

async function finishes(extraEnv: Readonly<Record<string, string>> = {}): Promise<IndexerRun> {
  const indexer = await runIndexer(env(extraEnv));
  await waitFor('it is live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  return indexer;
}

/** Expects the tables of an undisturbed seed at this offset. */
async function isSeededAt(offset: number): Promise<void> {
  const [row] = await query(database.url, 'select seed_offset, seed_token from ledger.stream');
  expect(row).toEqual({ seed_offset: String(offset), seed_token: null });
  const expectedIds = [...sandbox.ledger.activeAt(offset)]
    .map(({ activation }) => activation.created.contractId)
    .sort();
  const seededSql = `select contract_id as id from ledger.decoded_contracts where origin = 'seed' order by contract_id collate "C"`;
  expect((await query(database.url, seededSql)).map(({ id }) => id)).toEqual(expectedIds);
  const lifetimesSql = `select contract_id as id from ledger.lifetimes where activated_offset <= ${offset} order by contract_id collate "C"`;
  expect((await query(database.url, lifetimesSql)).map(({ id }) => id)).toEqual(expectedIds);
}

describe('continuation token of an interrupted seed', () => {
  it('resumes the seed at the same offset without reading entries twice', async () => {
    const { offset, token, entries } = await beginSeed();
    growLedger();
    expect(sandbox.ledger.ledgerEnd()).toBeGreaterThan(offset);
    await using indexer = await finishes();
    expect(retriesFor(indexer, 'SEED_PRUNED')).toBe(0);
    expect(gateway.lists.map((list) => [list.activeAtOffset, list.streamContinuationToken])).toEqual([
      [offset, undefined],
      [offset, token],
    ]);
    const [row] = await query(database.url, 'select seed_contracts from ledger.stream');
    expect(Number(row?.['seed_contracts'])).toBe([...sandbox.ledger.activeAt(offset)].length);
    expect(entries).toBeLessThan(Number(row?.['seed_contracts']));
    await isSeededAt(offset);
  });

  it('is discarded with its entries if the ledger does not recognize it', async () => {
    const { offset } = await beginSeed();
    const token = Buffer.from('of another start of the participant').toString('base64');
    await query(database.url, `update ledger.stream set seed_token = '${token}'`);
    await expectRestart(offset, token);
  });

  it.each(['PARTICIPANT_PRUNED_DATA_ACCESSED', 'OFFSET_AFTER_LEDGER_END'] as const)(
    'is discarded if its offset is rejected with %s',
    async (failure) => {
      const { offset, token } = await beginSeed();
      sandbox.faults.streamFailure = { path: listPath, failure, times: 1 };
      const isPruned = failure === 'PARTICIPANT_PRUNED_DATA_ACCESSED';
      await expectRestart(offset, token, isPruned ? 'LEDGER_REASSIGNMENT_IN_FLIGHT' : 'SEED_PRUNED');
    },
  );

  /** Expects a restart. The ledger has pruned nothing, despite its error. */
  async function expectRestart(offset: number, token: string, expectedCode = 'SEED_PRUNED'): Promise<void> {
    growLedger();
    await using indexer = await finishes();
    const end = sandbox.ledger.ledgerEnd();
    expect(gateway.lists.map((list) => [list.activeAtOffset, list.streamContinuationToken])).toEqual([
      [offset, undefined],
      [offset, token],
      [end, undefined],
    ]);
    expect(retriesFor(indexer, expectedCode)).toBe(1);
    await isSeededAt(end);
  }

  it('is discarded with its entries if it belongs to another offset', async () => {
    const { offset } = await beginSeed();
    await query(database.url, `update ledger.stream set seed_offset = ${offset - 7}`);
    growLedger();
    await using indexer = await finishes();
    expect(retriesFor(indexer, 'SEED_PRUNED')).toBe(1);
    expect(gateway.lists.at(-1)?.streamContinuationToken).toBeUndefined();
    await isSeededAt(sandbox.ledger.ledgerEnd());
  });

  it('is kept while another filter parks the indexer', async () => {
    const { offset, token } = await beginSeed();
    const digestBefore = await digestOf(database.url, 'ledger');
    {
      await using indexer = await runIndexer(env({ LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulet' }));
      expect((await waitUntilParked(indexer)).code).toBe('FILTER_CHANGED');
    }
    expect(gateway.lists).toHaveLength(1);
    expect(await digestOf(database.url, 'ledger')).toBe(digestBefore);
    expect((await interruptSeed()).token).toBe(token);
    await using _indexer = await finishes();
    expect(gateway.lists[1]).toMatchObject({ activeAtOffset: offset, streamContinuationToken: token });
    await isSeededAt(offset);
  });

  it('is discarded with its entries each time pruning invalidates the list', async () => {
    await beginSeed();
    sandbox.faults.streamFailure = {
      path: listPath,
      failure: 'PARTICIPANT_PRUNED_DATA_ACCESSED',
      afterFrames: 9,
      times: 3,
    };
    growLedger();
    await using indexer = await finishes();
    expect(retriesFor(indexer, 'LEDGER_REASSIGNMENT_IN_FLIGHT')).toBe(3);
    await isSeededAt(sandbox.ledger.ledgerEnd());
  });
});
