/** A ledger with realistic history, an indexer in the test process, and results of readers since an offset. */
import { Client } from 'pg';
import type { Command } from '../../src/cli/command-line/command.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

export interface RetentionWorld extends AsyncDisposable {
  readonly url: string;
  readonly sandbox: Sandbox;
  /** Appends updates to the ledger. */
  grow(updates: number): void;
  /** Runs the complete indexer into a schema, from genesis by default. */
  index(schema: string, env?: Readonly<Record<string, string>>): Promise<IndexerRun>;
  /** Indexes into a schema up to the ledger end, and stops. */
  fill(schema: string, env?: Readonly<Record<string, string>>): Promise<void>;
  query<T extends object = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<readonly T[]>;
  /** Runs the command with `--json`. Resolves to its output. */
  prune(schema: string, ...argv: string[]): Promise<Record<string, unknown>>;
  redact(schema: string, ...argv: string[]): Promise<Record<string, unknown>>;
}

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

export async function createRetentionWorld(seed: number, updates: number): Promise<RetentionWorld> {
  const database = await createTestDatabase();
  const sandbox = await startSandbox({ seed, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
  const steps = new Steps(sandbox.ledger, seed);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  let updateCount = 0;
  const index: RetentionWorld['index'] = (schema, env = {}) =>
    runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      POSTGRES_SCHEMA: schema,
      INDEXER_START: 'genesis',
      ...env,
    });
  const verb =
    (command: Command) =>
    async (schema: string, ...argv: string[]): Promise<Record<string, unknown>> => {
      const lines: string[] = [];
      const env = { DATABASE_URL: database.url, POSTGRES_SCHEMA: schema };
      await runCommand(command, [...argv, '--json'], env, { print: (line) => lines.push(line) });
      return JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
    };
  const growLedger = (updateTotal: number): void => {
    for (const end = updateCount + updateTotal; updateCount < end; updateCount += 1)
      steps.step(startAt + updateCount * 1_000_000);
  };
  growLedger(updates);
  return {
    url: database.url,
    sandbox,
    grow: growLedger,
    index,
    fill: async (schema, env) => {
      await using indexer = await index(schema, env);
      await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
    },
    query: async <T extends object>(sql: string, values?: unknown[]) => (await client.query<T>(sql, values)).rows,
    prune: verb(pruneCommand),
    redact: verb(redactCommand),
    [Symbol.asyncDispose]: async () => {
      await client.end();
      await sandbox.close();
      await database.drop();
    },
  };
}

/** Data that must not change when history up to `boundary` is pruned, as one count and hash per query. */
export async function retainedFacts(world: RetentionWorld, schema: string, boundary: number): Promise<unknown> {
  const explore = `${schema}_explore`;
  const facts: Record<string, unknown> = {};
  const end = Number((await world.query<{ c: string }>(`select checkpoint as c from ${schema}.stream`))[0]?.c);
  const hashed = async (name: string, from: string, condition = 'true'): Promise<void> => {
    const rows = await world.query<{ n: string; h: string }>(
      `select count(*) as n, md5(string_agg(t::text, '|' order by t::text)) as h
         from (select to_jsonb(x) - 'indexed_at' - 'epoch' as t from ${from} x where ${condition}) y`,
    );
    facts[name] = rows[0];
  };
  for (const at of [boundary, Math.min(boundary + 1, end), Math.floor((boundary + end) / 2), end]) {
    await hashed(`active at ${at}`, `${explore}.active_at(${at}, null)`);
    await hashed(`lifetimes at ${at}`, `${explore}.lifetimes_at(${at}, null)`);
  }
  for (const table of [
    'decoded_updates',
    'decoded_exercises',
    'decoded_archives',
    'decoded_reassignments',
    'topology_events',
  ]) {
    await hashed(table, `${schema}.${table}`, `"offset" > ${boundary}`);
  }
  await hashed('contracts', `${explore}.contracts`, `is_active or archived_at_offset > ${boundary}`);
  await hashed('new contracts', `${schema}.decoded_contracts`, `"offset" > ${boundary}`);
  await hashed('views', `${explore}.interface_views`, `is_active or archived_at_offset > ${boundary}`);
  await hashed('counts', `${schema}.active_counts`);
  await hashed('activity', `${schema}.activity_hourly`);
  return facts;
}
