/** Runs an indexer, a sandbox, and the commands with which operators resolve parks. */
import { loadConfig } from '../../src/config/config.ts';
import { filterCommand } from '../../src/cli/maintain/filter.ts';
import { reseedCommand } from '../../src/cli/maintain/reseed.ts';
import { resetCommand } from '../../src/cli/maintain/reset.ts';
import { jobsCommand } from '../../src/cli/maintain/jobs.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';
import { brokenRules } from './rules.ts';

export interface ParkedState {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}

/** One sandbox and one database. The indexer can fill several schemas from the sandbox. */
export class HistoryWorld {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  #steps: Steps;
  #microseconds = Date.UTC(2026, 0, 5, 8) * 1000;

  private constructor(sandbox: Sandbox, database: TestDatabase) {
    this.sandbox = sandbox;
    this.database = database;
    this.#steps = new Steps(sandbox.ledger, 7);
  }

  /** Starts a ledger with this number of updates. */
  static async open(updates = 200, options: SandboxOptions = {}): Promise<HistoryWorld> {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 }, ...options });
    const world = new HistoryWorld(sandbox, await createMigratedDatabase());
    world.grow(updates);
    return world;
  }

  async close(): Promise<void> {
    await this.sandbox.close();
    await this.database.drop();
  }

  env(schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { url } = this.sandbox;
    return { LEDGER_URL: url, DATABASE_URL: this.database.url, POSTGRES_SCHEMA: schema, ...extraEnv };
  }

  /** Adds updates to the ledger. They exercise, archive and reassign contracts of earlier updates. */
  grow(updates: number): void {
    for (let stepCount = 0; stepCount < updates; stepCount += 1) {
      this.#microseconds += 40_000_000;
      this.#steps.step(this.#microseconds);
    }
  }

  /** Restores the participant from a backup at this offset. `grow` then adds other updates. */
  restore(offset: number): void {
    this.sandbox.ledger.restore(offset);
    this.#steps = new Steps(this.sandbox.ledger, 12);
  }

  /** Re-creates the database of the participant, with other updates. */
  startOver(updates: number): void {
    this.sandbox.ledger.reset();
    this.#steps = new Steps(this.sandbox.ledger, 11);
    this.grow(updates);
  }

  run(schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Promise<IndexerRun> {
    return runIndexer(this.env(schema, extraEnv));
  }

  /** Runs an indexer until it has stored everything that the ledger has. */
  async index(schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Promise<void> {
    await using indexer = await this.run(schema, extraEnv);
    await indexer.reaches(this.sandbox.ledger.ledgerEnd());
    // During the seed, the checkpoint already equals the offset of the seed.
    await waitFor('the indexer is live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
    await indexer.completionsReach(this.sandbox.ledger.ledgerEnd());
  }

  /** Runs an indexer until it parks; returns the error. */
  async parks(schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Promise<ParkedState> {
    await using indexer = await this.run(schema, extraEnv);
    const isParked = async () => ((await indexer.status()).state === 'parked' ? true : undefined);
    await waitFor('the indexer parks', isParked, 50_000);
    const line = indexer.log.findLast((text) => text.includes('"msg":"parked: an operator is needed"'));
    return (JSON.parse(line ?? '{}') as { readonly err: ParkedState }).err;
  }

  /** The first row of a query. */
  async row(text: string): Promise<Record<string, unknown>> {
    return (await query(this.database.url, text))[0] ?? {};
  }

  async checkpoint(schema = 'ledger'): Promise<number> {
    return Number((await this.row(`select checkpoint from ${schema}.stream`))['checkpoint']);
  }

  /** Runs a `ledger-indexer` command line; resolves to its output. */
  async command(line: string, schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Promise<string> {
    const [verb = '', ...argv] = line.split(' ');
    const output: string[] = [];
    const write = (text: string): void => void output.push(text);
    const env = this.env(schema, extraEnv);
    loadConfig(env);
    if (verb === 'reset') await runCommand(resetCommand, argv, env, { print: write });
    else if (verb === 'reseed') await runCommand(reseedCommand, argv, env, { print: write });
    else if (verb === 'filter') await runCommand(filterCommand, argv, env, { print: write });
    else if (verb === 'jobs') await runCommand(jobsCommand, argv, env, { print: write });
    else throw new Error(`no command ${verb}`);
    return output.join('\n');
  }

  /** Violated invariants of docs/reference/invariants.md; empty if none is violated. */
  broken(schema = 'ledger'): Promise<readonly string[]> {
    return brokenRules(this.database.url, schema);
  }

  /** Active contracts in the schema, as `contract @ offset`. */
  async active(schema = 'ledger'): Promise<readonly string[]> {
    const rows = await query(
      this.database.url,
      `select contract_id || ' @ ' || activated_offset as one from ${schema}.lifetimes
        where deactivated_offset is null order by 1`,
    );
    return rows.map(({ one }) => String(one));
  }
}
