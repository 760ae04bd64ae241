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
import { Captured } from '../cli/verb-run.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { documented, functionCalls, viewNames } from '../read/demo/reader-statements.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { citusPlace, citusUrl, noCitus, plainPlace, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

/**
 * Statements that Citus rejects, with the reason, by kind. Empty means that all succeed. Document every new entry in
 * docs/how-to/run/citus.md.
 */
const refused: Readonly<Record<string, readonly string[]>> = { documented: [], views: [], functions: [] };

/** Minimum number of statements of each kind. A shorter list would verify nothing. */
const fewest: Readonly<Record<string, number>> = { documented: 53, views: 245, functions: 125 };

describe('indexed data on Citus', needs(noCitus), () => {
  let sandbox: Sandbox;
  let places: readonly [plain: CitusPlace, distributed: CitusPlace];
  let on: readonly [plain: Client, distributed: Client];

  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 5, updates: 400, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
    places = [await plainPlace('ledger', false), await citusPlace(citusUrl ?? '', 'ledger', 2, false)];
    await index(sandbox, places);
    on = [await connect(places[0].url), await connect(places[1].url)];
    // The two servers stored the rows at different times, so the test overwrites this column.
    for (const place of places) await place.query(`update batches set indexed_at = '2026-01-01Z'`);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(on.map((client) => client.end()));
    for (const place of places) await place[Symbol.asyncDispose]();
    await sandbox.close();
  });

  it.each([[['--tail', '100']], [['--acs']], [['--invariants']]])(
    'equals the ledger according to verify %j',
    async (words) => {
      const stdout = new Captured({ env: {} });
      const env = { DATABASE_URL: places[1].url, LEDGER_URL: sandbox.url, INDEXER_HTTP_PORT: '1' };
      const print = (line: string): void => void stdout.write(`${line}\n`);
      const code = await runCommand(verifyCommand, [...words, '--json'], env, { stdout, print });
      expect([(JSON.parse(stdout.text) as { outcome: string }).outcome, code]).toEqual(['equal', 0]);
    },
  );

  it('returns the same results for reader queries as plain Postgres', async () => {
    const statementsByKind = {
      documented: documented.filter((sql) => !/^(?:create|refresh|listen) /m.test(sql)),
      views: (await viewNames(on[0])).map((name) => `select * from ${name}`),
      functions: (await functionCalls(on[0])).map(({ call }) => call),
    };
    const now = new Date().toISOString();
    for (const [kind, statements] of Object.entries(statementsByKind)) {
      expect(statements.length, kind).toBeGreaterThanOrEqual(fewest[kind] ?? 0);
      const found: string[] = [];
      for (const sql of statements) {
        const [plain, distributed] = await answers(on, sql.replaceAll(/\bnow\(\)/g, `timestamptz '${now}'`));
        if (typeof distributed === 'string' && typeof plain !== 'string') found.push(`${distributed}: ${sql}`);
        else expect(distributed, sql).toEqual(plain);
      }
      console.log(
        `test/citus: ${kind}: ${statements.length - found.length} of ${statements.length} answered as by plain Postgres`,
      );
      expect(found, kind).toEqual(refused[kind]);
    }
  }, 300_000);
});

/** Runs both indexers until each has read the same packages, created the views for readers, and is idle. */
async function index(sandbox: Sandbox, places: readonly [CitusPlace, CitusPlace]): Promise<void> {
  const options = { LEDGER_URL: sandbox.url, LEDGER_INTERFACES: demoInterfaces.join(','), INDEXER_START: 'genesis' };
  await using plain = await runIndexer({ ...options, DATABASE_URL: places[0].url });
  await using distributed = await runIndexer({ ...options, DATABASE_URL: places[1].url });
  for (const indexer of [plain, distributed]) await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  const made = () =>
    Promise.all(
      places.map(async (place) => {
        const [row] = await place.query(
          `select (select count(*)::integer from pg_views where schemaname = 'typed') as views,
                  (select count(*)::integer from packages) as packages, (select count(*)::integer from omitted_fields) as omitted_fields`,
        );
        return row;
      }),
    );
  let before = '';
  const settled = async (): Promise<true | undefined> => {
    const counts = await made();
    const now = JSON.stringify(counts);
    const same = now === before && counts.every((row) => JSON.stringify(row) === JSON.stringify(counts[0]));
    before = now;
    if (same && Number(counts[0]?.['views']) > 25) return true;
    await pause(1_000);
    return undefined;
  };
  await waitFor('both have read all packages', settled, 60_000);
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("set time zone 'UTC'; set jit = off; set client_min_messages = error");
  return client;
}

/** Results of a statement on both servers: sorted rows without the storage time, or SQLSTATE and message. */
function answers(on: readonly [Client, Client], sql: string) {
  return Promise.all([answer(on[0], sql), answer(on[1], sql)]);
}

const ofStoring = /^(?:.*_?(?:stored|recorded|since|applied|noted|updated|seen)_at|stored_.*)$/;

async function answer(client: Client, sql: string): Promise<string | readonly string[]> {
  await client.query('begin read only');
  try {
    const found = (await client.query(sql)) as Result | readonly Result[];
    const rows = [found].flat().flatMap((result) => result.rows);
    return rows
      .map((row) => JSON.stringify(row, (name, value: unknown) => (ofStoring.test(name) ? undefined : value)))
      .toSorted();
  } catch (thrown) {
    if (thrown instanceof DatabaseError) return `${thrown.code ?? ''} ${thrown.message}`;
    throw thrown;
  } finally {
    await client.query('rollback');
  }
}

interface Result {
  readonly rows: readonly object[];
}
