/**
 * Sets unusual defaults for all settings of a role. Stored rows, and the results of commands and readers, are the same
 * as with a role without defaults.
 */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { programInProcess } from '../cli/in-process.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';
import { runVerify } from '../verify/verify-run.ts';
import { runIndexer, type IndexerRun } from './runs/indexer-run.ts';

/** Defaults for `alter role … set` that change the meaning of texts and statements. */
const settingValues = {
  datestyle: `'SQL, DMY'`,
  intervalstyle: 'sql_standard',
  timezone: `'Asia/Kathmandu'`,
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  escape_string_warning: 'on',
  backslash_quote: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  xmloption: 'document',
  client_encoding: 'LATIN1',
  client_min_messages: 'debug5',
  search_path: 'decoy, pg_catalog',
  default_transaction_isolation: `'repeatable read'`,
  default_transaction_deferrable: 'on',
  row_security: 'off',
  check_function_bodies: 'off',
  session_replication_role: 'replica',
  synchronous_commit: 'off',
  gin_fuzzy_search_limit: '1',
};
/** Settings for planning and for the display of numbers. A reader may choose them. */
const ownChoice = {
  extra_float_digits: '-15',
  work_mem: `'64kB'`,
  cursor_tuple_fraction: '0.0001',
  plan_cache_mode: 'force_custom_plan',
  jit: 'on',
  jit_above_cost: '0',
  enable_nestloop: 'off',
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashagg: 'off',
  from_collapse_limit: '1',
  join_collapse_limit: '1',
};
/**
 * Limits in milliseconds. They apply until a session has set its own limits, so they must be longer than a busy machine
 * needs to send the first statement. Older servers have no transaction_timeout.
 */
const limits = {
  statement_timeout: 2_000,
  lock_timeout: 1,
  idle_in_transaction_session_timeout: 2_000,
  idle_session_timeout: 2_000,
  transaction_timeout: 2_000,
};

const suffix = randomBytes(4).toString('hex');
const writer = `hostile_${suffix}`;
const reader = `hostile_reader_${suffix}`;
const startAt = Date.UTC(2026, 0, 5, 8) * 1000;
let sandbox: Sandbox;
let calmDatabase: TestDatabase;
let hostileDatabase: TestDatabase;

async function setRoleDefaults(role: string, settings: object): Promise<void> {
  const settingNames = await query(calmDatabase.url, 'select lower(name) as name from pg_settings');
  for (const [name, value] of Object.entries(settings)) {
    if (!settingNames.some((row) => row['name'] === name)) continue;
    await query(hostileDatabase.url, `alter role ${role} set ${name} = ${String(value)}`);
  }
}

function urlOf(role: string): string {
  const url = new URL(hostileDatabase.url);
  return Object.assign(url, { username: role, password: 'secret' }).href;
}

const envOf = (url: string): Record<string, string> => ({
  LEDGER_URL: sandbox.url,
  DATABASE_URL: url,
  INDEXER_WRITE_CONCURRENCY: '2',
  INDEXER_BATCH_UPDATES: '200',
});

/**
 * Waits until all packages of the stored rows have been read, so that both databases can create the same typed views.
 */
async function packagesRead(url: string): Promise<void> {
  const missingTemplateSql = `select from ledger.templates t where not exists (select from ledger.packages p where p.package_id = t.package_id)`;
  await waitFor('the packages', async () => ((await query(url, missingTemplateSql)).length === 0 ? true : undefined));
}

/**
 * Waits until a session of the pool has been idle for longer than the role allows. If the server had ended it, the pool
 * would silently open another one.
 */
async function expectIdle(): Promise<void> {
  const idleSql = `select from pg_stat_activity where usename = '${writer}' and state = 'idle'
    and clock_timestamp() - state_change > interval '${String(limits.idle_session_timeout + 500)} ms'`;
  await waitFor('a session is idle for longer than the role allows', async () =>
    (await query(hostileDatabase.url, idleSql)).length > 0 ? true : undefined,
  );
}

async function waitUntilLive(indexer: IndexerRun): Promise<void> {
  await waitFor('live', async () => (['live', 'idle'].includes((await indexer.status()).state) ? true : undefined));
}

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
  calmDatabase = await createTestDatabase();
  hostileDatabase = await createTestDatabase();
  await query(hostileDatabase.url, `create role ${writer} login password 'secret'`);
  await query(hostileDatabase.url, `create role ${reader} login password 'secret'`);
  await query(
    hostileDatabase.url,
    `grant create on database ${new URL(hostileDatabase.url).pathname.slice(1)} to ${writer}`,
  );
  await query(
    hostileDatabase.url,
    `create schema decoy; create table decoy.stream (id int); grant all on schema decoy to public`,
  );
  await setRoleDefaults(writer, { ...settingValues, ...ownChoice, ...limits });
});
afterAll(async () => {
  await sandbox.close();
  for (const role of [reader, writer]) {
    await query(hostileDatabase.url, `drop owned by ${role} cascade`);
    await query(hostileDatabase.url, `drop role ${role}`);
  }
  await Promise.all([calmDatabase.drop(), hostileDatabase.drop()]);
});

describe('database role with hostile defaults', { timeout: 180_000 }, () => {
  it('stores the same rows as a role without defaults, also after a restart', async () => {
    const steps = new Steps(sandbox.ledger, 5);
    let updateCount = 0;
    const growLedger = (updates: number): void => {
      for (const end = updateCount + updates; updateCount < end; updateCount += 1)
        steps.step(startAt + updateCount * 1_000_000);
    };
    growLedger(200);
    for (const updateTotal of [500, 60]) {
      await using firstIndexer = await runIndexer(envOf(calmDatabase.url));
      await using otherIndexer = await runIndexer(envOf(urlOf(writer)));
      await Promise.all([waitUntilLive(firstIndexer), waitUntilLive(otherIndexer)]);
      growLedger(updateTotal);
      const end = sandbox.ledger.ledgerEnd();
      await Promise.all([firstIndexer.reaches(end, 60_000), otherIndexer.reaches(end, 60_000)]);
      await Promise.all([packagesRead(calmDatabase.url), packagesRead(hostileDatabase.url)]);
      // A transient failure could hide that a setting is missing.
      const failures = otherIndexer.log.filter((line) => line.includes('"level":"error"') || line.includes('STORE_'));
      expect(failures.join('\n')).toBe('');
      await expectIdle();
    }
    expect(await digestOf(hostileDatabase.url, 'ledger')).toBe(await digestOf(calmDatabase.url, 'ledger'));
  });

  it('passes verify and verify --invariants', async () => {
    expect(await runVerify([], envOf(urlOf(writer)))).toMatchObject({ code: 0, outcome: 'equal' });
    expect(await runVerify(['--invariants'], envOf(urlOf(writer)))).toMatchObject({ code: 0, outcome: 'equal' });
  });

  it('prints the same command output as a role without defaults', async () => {
    const readAnswers = async (url: string) => {
      const runProgram = async (...args: string[]) => await programInProcess(args, { DATABASE_URL: url });
      return {
        rebuilt: (await runProgram('views', 'rebuild'), await runProgram('views', 'list', '--json')),
        times: await runProgram(
          'query',
          "select max(record_time) as at, interval '90 minutes' as long, 0.1::float8 as part from explore.updates",
        ),
        slow: await runProgram('query', `select 1 as one from pg_sleep(${limits.statement_timeout / 800})`),
      };
    };
    const actual = Object.entries(await readAnswers(urlOf(writer))).map(([name, { code, stdout }]) => [
      name,
      code,
      stdout,
    ]);
    const expected = Object.entries(await readAnswers(calmDatabase.url)).map(([name, { code, stdout }]) => [
      name,
      code,
      stdout,
    ]);
    expect(actual).toEqual(expected);
    expect(expected.map(([, code]) => code)).toEqual([0, 0, 0]);
    expect((await programInProcess(['status'], { DATABASE_URL: urlOf(writer) })).code).toBe(0);
  });

  it('reads the same rows from reader views as a role without defaults', async () => {
    await runCommand(grantReaderCommand, [reader], { DATABASE_URL: hostileDatabase.url });
    await setRoleDefaults(reader, settingValues);
    const views = await query(
      hostileDatabase.url,
      `select format('select to_jsonb(v) || jsonb_build_object(%s) as row from %I.%I v', spans.list, n.nspname, c.relname) as question
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        cross join lateral (select string_agg(format('%L, extract(epoch from v.%I)', attname, attname), ', ') as list
                              from pg_attribute where attrelid = c.oid and atttypid = 'interval'::regtype) spans
        where n.nspname in ('explore', 'pqs', 'typed') and c.relkind = 'v' order by 1`,
    );
    const queries = [...views.map(({ question: queryText }) => String(queryText)), ...functions];
    const actual = await responsesOf(urlOf(reader), queries);
    const expected = await responsesOf(hostileDatabase.url, queries);
    for (const [index, queryText] of queries.entries()) expect(actual[index], queryText).toEqual(expected[index]);
    expect(expected.filter((rows) => rows.length > 0).length).toBeGreaterThan(queries.length / 2);
  });
});

const functions = [
  'active()',
  'creates()',
  'archives()',
  'exercises()',
  'summary_active()',
  'summary_updates()',
  'summary_exercises()',
  `nearest_offset(interval '1 day')`,
  `nearest_offset('2026-01-05T08:20:00Z'::timestamptz)`,
]
  .map((call) => `select to_jsonb(v) as row from pqs.${call} v`)
  .concat(
    `select to_jsonb(v) as row from explore.nearest_offset('2026-01-05T08:20:00Z'::timestamptz) v`,
    `select to_jsonb(v) as row from explore.active_at(500) v`,
    `select to_jsonb(v) as row from explore.similar_names('Holding') v`,
    `select to_jsonb(pqs.print_create_index_for_contract('i', 'Splice.Amulet:Amulet', $$cast (payload->>'a' as int)$$, 'btree')) as row`,
  );

/**
 * Rows of each query in a fixed order. Times and intervals are compared as numbers, because readers choose their output
 * format.
 */
async function responsesOf(url: string, queries: readonly string[]): Promise<readonly (readonly string[])[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const answerRows: string[][] = [];
    for (const queryText of queries) {
      const rows = await client.query<{ row: unknown }>(queryText).then(
        (resultRows) => resultRows.rows.map(({ row }) => JSON.stringify(row, asInstant)),
        (error: unknown) => [error instanceof Error ? error.message : 'failed'],
      );
      answerRows.push(rows.toSorted());
    }
    return answerRows;
  } finally {
    await client.end();
  }
}

function asInstant(_key: string, value: unknown): unknown {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$/.test(value);
  return isTime ? Date.parse(value) : value;
}
