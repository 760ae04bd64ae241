/**
 * The indexer over the workers of Citus beside one on plain Postgres, both of the same ledger: what readers may ask is answered
 * alike, or refused by Citus with the code of what it does not support. Never is it answered otherwise.
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
import { waitFor } from '../support/wait-for.ts';
import { citusPlace, citusUrl, plainPlace, sayWithoutCitus, type Place } from './places.ts';

sayWithoutCitus();

/** What Citus refuses as unsupported, functions over tables and types that workers lack, and texts that it makes of a query and cannot read. */
const refusals: ReadonlySet<string> = new Set(['0A000', '42883', '42704', '42601']);

/** So many of each at most: what is answered stays answered. */
const mostRefused: Readonly<Record<string, number>> = { documented: 30, views: 32, functions: 27 };

describe.runIf(citusUrl !== undefined)('what readers ask', () => {
  let sandbox: Sandbox;
  let places: readonly [plain: Place, distributed: Place];
  let on: readonly [plain: Client, distributed: Client];

  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 5, updates: 400, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
    places = [await plainPlace('ledger', false), await citusPlace(citusUrl ?? '', 'ledger', 2, false)];
    for (const { url } of places) await index(sandbox, url);
    on = [await connect(places[0].url), await connect(places[1].url)];
    // Each was stored at a time of its own.
    for (const place of places) await place.query(`update batches set indexed_at = '2026-01-01Z'`);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(on.map((client) => client.end()));
    for (const place of places) await place[Symbol.asyncDispose]();
    await sandbox.close();
  });

  it('is found equal to the ledger where verify reads single updates', async () => {
    const stdout = new Captured({ env: {} });
    const env = { DATABASE_URL: places[1].url, LEDGER_URL: sandbox.url, INDEXER_HTTP_PORT: '1' };
    const print = (line: string): void => void stdout.write(`${line}\n`);
    const code = await runCommand(verifyCommand, ['--tail', '100', '--json'], env, { stdout, print });
    expect([(JSON.parse(stdout.text) as { outcome: string }).outcome, code]).toEqual(['equal', 0]);
  });

  it('is answered as by plain Postgres, or refused', async () => {
    const asked = {
      documented: documented.filter((sql) => !/^(?:create|refresh|listen) /m.test(sql)),
      views: (await viewNames(on[0])).map((name) => `select * from ${name}`),
      functions: (await functionCalls(on[0])).map(({ call }) => call),
    };
    const now = new Date().toISOString();
    for (const [kind, statements] of Object.entries(asked)) {
      let refused = 0;
      for (const sql of statements) {
        const [plain, distributed] = await answers(on, sql.replaceAll(/\bnow\(\)/g, `timestamptz '${now}'`));
        if (typeof distributed === 'string' && typeof plain !== 'string') {
          expect(refusals.has(distributed.slice(0, 5)), `${distributed}: ${sql}`).toBe(true);
          refused += 1;
        } else expect(distributed, sql).toEqual(plain);
      }
      console.log(
        `test/citus: ${kind}: ${statements.length - refused} of ${statements.length} answered, the others refused`,
      );
      expect(refused, kind).toBeLessThanOrEqual(mostRefused[kind] ?? 0);
    }
  }, 300_000);
});

async function index(sandbox: Sandbox, url: string): Promise<void> {
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: url,
    LEDGER_INTERFACES: demoInterfaces.join(','),
    INDEXER_START: 'genesis',
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
  const client = await connect(url);
  const made = async (): Promise<true | undefined> => {
    const { rows } = await client.query(`select from pg_views where schemaname = 'typed'`);
    return rows.length > 25 ? true : undefined;
  };
  await waitFor('typed views are there', made, 20_000);
  await client.end();
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("set time zone 'UTC'; set jit = off; set client_min_messages = error");
  return client;
}

/** Of a statement on both: rows in an order of their own without when they were stored, or SQLSTATE and message. */
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
