/** A sandbox with submitted commands, and an indexer that follows their completions. */
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

export const alice = 'Alice::1220aa';
export const bank = 'Bank::1220aa';

type SandboxOptions = Parameters<typeof startSandbox>[0];

export interface SubmitResult {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export class CompletionWorld {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;

  private constructor(sandbox: Sandbox, database: TestDatabase) {
    this.sandbox = sandbox;
    this.database = database;
  }

  static async open(options: SandboxOptions = {}): Promise<CompletionWorld> {
    const sandbox = await startSandbox({ seed: 5, limits: { checkpointIntervalMs: 50, listWaitMs: 20 }, ...options });
    return new CompletionWorld(sandbox, await createMigratedDatabase());
  }

  async close(): Promise<void> {
    await this.sandbox.close();
    await this.database.drop();
  }

  env(schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { url } = this.sandbox;
    return {
      LEDGER_URL: url,
      DATABASE_URL: this.database.url,
      POSTGRES_SCHEMA: schema,
      INDEXER_START: 'genesis',
      ...extraEnv,
    };
  }

  run(schema = 'ledger', extraEnv: Readonly<Record<string, string>> = {}): Promise<IndexerRun> {
    return runIndexer(this.env(schema, extraEnv));
  }

  /** Creates a contract. A repeated command id is rejected as a duplicate, which also produces a completion. */
  async submit(commandId: string, extraFields: Readonly<Record<string, unknown>> = {}): Promise<SubmitResult> {
    const createArguments = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
    const command = { CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } };
    const body = { commands: [command], commandId, userId: 'app', actAs: [alice], ...extraFields };
    const response = await fetch(`${this.sandbox.url}/v2/commands/submit-and-wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as SubmitResult['body'] };
  }

  rows(text: string): Promise<readonly Record<string, unknown>[]> {
    return query(this.database.url, text);
  }

  /** Waits until the completions up to the offset are stored. */
  async reaches(offset: number, schema = 'ledger', limitMs?: number): Promise<void> {
    const text = `select max(to_offset)::int as at from ${schema}.completion_ranges`;
    await waitFor(
      `completions of ${schema} reach ${String(offset)}`,
      async () => (Number((await this.rows(text))[0]?.['at'] ?? -1) >= offset ? true : undefined),
      limitMs,
    );
  }
}
