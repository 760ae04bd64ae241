/** A sandbox with configurable faults, a database, and an indexer between them. */
import { expect } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import type { TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

export interface ExpectedStop {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}

/**
 * Digests of the rows that an indexer without faults stores, one for each history of the ledger. Most tests of a file
 * use the same history, which is indexed only once.
 */
const undisturbedDigests = new Map<string, string>();

export class FaultWorld implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  #seed = 40;

  private constructor(sandbox: Sandbox, database: TestDatabase) {
    this.sandbox = sandbox;
    this.database = database;
  }

  /** A ledger with 60 updates that sends 20 OffsetCheckpoints per second. */
  static async open(options: SandboxOptions = {}): Promise<FaultWorld> {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 }, ...options });
    const world = new FaultWorld(sandbox, await createMigratedDatabase());
    world.grow(60);
    return world;
  }

  grow(updates: number): void {
    generateHistory(this.sandbox.ledger, { seed: (this.#seed += 1), updates });
  }

  /** Starts an indexer at genesis. The batches are small, so that a fault affects several of them. */
  run(schema = 'ledger', env: Readonly<Record<string, string>> = {}): Promise<IndexerRun> {
    return runIndexer({
      LEDGER_URL: this.sandbox.url,
      DATABASE_URL: this.database.url,
      POSTGRES_SCHEMA: schema,
      INDEXER_START: 'genesis',
      INDEXER_BATCH_UPDATES: '5',
      ...env,
    });
  }

  /** Offset of a transaction that has others before and after it. */
  someOffset(): number {
    const { ledger } = this.sandbox;
    const candidateUpdate = ledger
      .range(25, ledger.ledgerEnd(), 100)
      .find(({ update }) => update !== undefined && 'Transaction' in update);
    if (candidateUpdate === undefined) throw new Error('the ledger has no transaction after offset 25');
    return candidateUpdate.offset;
  }

  reachesEnd(indexer: IndexerRun): Promise<void> {
    return indexer.reaches(this.sandbox.ledger.ledgerEnd());
  }

  /** Expects the tables of an indexer without faults. Remove all faults before the call. */
  async expectUndisturbed(schema = 'ledger', env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { ledger } = this.sandbox;
    const cacheKey = JSON.stringify([ledger.participantId, ledger.range(0, ledger.ledgerEnd(), Infinity, true), env]);
    const cachedUndisturbed = undisturbedDigests.get(cacheKey) ?? (await this.#digestOfAnother(env));
    undisturbedDigests.set(cacheKey, cachedUndisturbed);
    expect(await digestOf(this.database.url, schema)).toBe(cachedUndisturbed);
  }

  async #digestOfAnother(env: Readonly<Record<string, string>>): Promise<string> {
    await using indexer = await this.run('fresh', env);
    await this.reachesEnd(indexer);
    return digestOf(this.database.url, 'fresh');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox.close();
    await this.database.drop();
  }
}

/** Waits until the indexer parks, and returns the reason. */
export async function waitUntilParked(indexer: IndexerRun): Promise<ExpectedStop> {
  await waitFor('the indexer parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
  const line = indexer.log.findLast((text) => text.includes('"msg":"parked: an operator is needed"'));
  return (JSON.parse(line ?? '{}') as { readonly err: ExpectedStop }).err;
}

/** Waits until the indexer has failed with this code. */
export async function failedWith(indexer: IndexerRun, code: string): Promise<void> {
  await waitFor(`the failure ${code}`, () => (indexer.log.some((line) => line.includes(code)) ? true : undefined));
}

/** Number of logged retries because of this code. */
export function retriesFor(indexer: IndexerRun, code: string): number {
  return indexer.log.filter((line) => line.includes('"msg":"backing off"') && line.includes(code)).length;
}
