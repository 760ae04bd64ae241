/**
 * Runs one indexer with Citus workers and one with plain Postgres, both for the same ledger. Statements of readers
 * return equal results on both.
 */
import { Client, DatabaseError } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { verifyCommand } from '../../src/cli/verify/verify.ts';
import { CapturedOutput } from '../cli/verb-run.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { documentedSql, functionCalls, viewNames } from '../read/demo/reader-statements.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { citusPlace, citusUrl, citusSkipReason, plainPlace, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

/**
 * Statements that Citus rejects, with the reason, by kind. Empty means that all succeed. Document every new entry in
 * docs/how-to/run/citus.md.
 */
const refusedStatements: Readonly<Record<string, readonly string[]>> = { documented: [], views: [], functions: [] };

/** Minimum number of statements of each kind. A shorter list would verify nothing. */
const minStatements: Readonly<Record<string, number>> = { documented: 53, views: 245, functions: 125 };

describe('indexed data on Citus', needs(citusSkipReason), () => {
  let sandbox: Sandbox;
  let citusPlaces: readonly [plain: CitusPlace, distributed: CitusPlace];
  let clients: readonly [plain: Client, distributed: Client];

  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 5, updates: 400, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
    citusPlaces = [await plainPlace('ledger', false), await citusPlace(citusUrl ?? '', 'ledger', 2, false)];
    await index(sandbox, citusPlaces);
    clients = [await connect(citusPlaces[0].url), await connect(citusPlaces[1].url)];
    // The two servers stored the rows at different times, so the test overwrites this column.
    for (const citusSchema of citusPlaces) await citusSchema.query(`update batches set indexed_at = '2026-01-01Z'`);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    for (const citusSchema of citusPlaces) await citusSchema[Symbol.asyncDispose]();
    await sandbox.close();
  });

  it.each([[['--tail', '100']], [['--acs']], [['--invariants']]])(
    'equals the ledger according to verify %j',
    async (args) => {
      const stdout = new CapturedOutput({ env: {} });
      const env = { DATABASE_URL: citusPlaces[1].url, LEDGER_URL: sandbox.url, INDEXER_HTTP_PORT: '1' };
      const print = (line: string): void => void stdout.write(`${line}\n`);
      const code = await runCommand(verifyCommand, [...args, '--json'], env, { stdout, print });
      expect([(JSON.parse(stdout.text) as { outcome: string }).outcome, code]).toEqual(['equal', 0]);
    },
  );

  it('returns the same results for reader queries as plain Postgres', async () => {
    const statementsByKind = {
      documented: documentedSql.filter((sql) => !/^(?:create|refresh|listen) /m.test(sql)),
      views: (await viewNames(clients[0])).map((name) => `select * from ${name}`),
      functions: (await functionCalls(clients[0])).map(({ call }) => call),
    };
    const now = new Date().toISOString();
    for (const [kind, statements] of Object.entries(statementsByKind)) {
      expect(statements.length, kind).toBeGreaterThanOrEqual(minStatements[kind] ?? 0);
      const problems: string[] = [];
      for (const sql of statements) {
        const [plainResult, distributedResult] = await queryAnswers(
          clients,
          sql.replaceAll(/\bnow\(\)/g, `timestamptz '${now}'`),
        );
        if (typeof distributedResult === 'string' && typeof plainResult !== 'string')
          problems.push(`${distributedResult}: ${sql}`);
        else expect(distributedResult, sql).toEqual(plainResult);
      }
      console.log(
        `test/citus: ${kind}: ${statements.length - problems.length} of ${statements.length} answered as by plain Postgres`,
      );
      expect(problems, kind).toEqual(refusedStatements[kind]);
    }
  }, 300_000);
});

/** Runs both indexers until each has read the same packages, created the views for readers, and is idle. */
async function index(sandbox: Sandbox, citusPlaces: readonly [CitusPlace, CitusPlace]): Promise<void> {
  const options = { LEDGER_URL: sandbox.url, LEDGER_INTERFACES: demoInterfaces.join(','), INDEXER_START: 'genesis' };
  await using plainIndexer = await runIndexer({ ...options, DATABASE_URL: citusPlaces[0].url });
  await using distributedIndexer = await runIndexer({ ...options, DATABASE_URL: citusPlaces[1].url });
  for (const indexer of [plainIndexer, distributedIndexer]) await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  const readResults = () =>
    Promise.all(
      citusPlaces.map(async (citusSchema) => {
        const [row] = await citusSchema.query(
          `select (select count(*)::integer from pg_views where schemaname = 'typed') as views,
                  (select count(*)::integer from packages) as packages, (select count(*)::integer from omitted_fields) as omitted_fields`,
        );
        return row;
      }),
    );
  let previousAnswer = '';
  const isSettled = async (): Promise<true | undefined> => {
    const counts = await readResults();
    const now = JSON.stringify(counts);
    const isSame = now === previousAnswer && counts.every((row) => JSON.stringify(row) === JSON.stringify(counts[0]));
    previousAnswer = now;
    if (isSame && Number(counts[0]?.['views']) > 25) return true;
    await pause(1_000);
    return undefined;
  };
  await waitFor('both have read all packages', isSettled, 60_000);
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("set time zone 'UTC'; set jit = off; set client_min_messages = error");
  return client;
}

/** Results of a statement on both servers: sorted rows without the storage time, or SQLSTATE and message. */
function queryAnswers(clients: readonly [Client, Client], sql: string) {
  return Promise.all([queryBoth(clients[0], sql), queryBoth(clients[1], sql)]);
}

const storageTimePattern = /^(?:.*_?(?:stored|recorded|since|applied|noted|updated|seen)_at|stored_.*)$/;

async function queryBoth(client: Client, sql: string): Promise<string | readonly string[]> {
  await client.query('begin read only');
  try {
    const queryResult = (await client.query(sql)) as Result | readonly Result[];
    const rows = [queryResult].flat().flatMap((result) => result.rows);
    return rows
      .map((row) => JSON.stringify(row, (name, value: unknown) => (storageTimePattern.test(name) ? undefined : value)))
      .toSorted();
  } catch (error) {
    if (error instanceof DatabaseError) return `${error.code ?? ''} ${error.message}`;
    throw error;
  } finally {
    await client.query('rollback');
  }
}

interface Result {
  readonly rows: readonly object[];
}
