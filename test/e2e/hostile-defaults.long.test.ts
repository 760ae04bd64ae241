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
const meaning = {
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
let calm: TestDatabase;
let hostile: TestDatabase;

async function setAgainstUs(role: string, settings: object): Promise<void> {
  const known = await query(calm.url, 'select lower(name) as name from pg_settings');
  for (const [name, value] of Object.entries(settings)) {
    if (!known.some((row) => row['name'] === name)) continue;
    await query(hostile.url, `alter role ${role} set ${name} = ${String(value)}`);
  }
}

function urlOf(role: string): string {
  const url = new URL(hostile.url);
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
  const missing = `select from ledger.templates t where not exists (select from ledger.packages p where p.package_id = t.package_id)`;
  await waitFor('the packages', async () => ((await query(url, missing)).length === 0 ? true : undefined));
}

/**
 * Waits until a session of the pool has been idle for longer than the role allows. If the server had ended it, the pool
 * would silently open another one.
 */
async function staysIdle(): Promise<void> {
  const idle = `select from pg_stat_activity where usename = '${writer}' and state = 'idle'
    and clock_timestamp() - state_change > interval '${String(limits.idle_session_timeout + 500)} ms'`;
  await waitFor('a session is idle for longer than the role allows', async () =>
    (await query(hostile.url, idle)).length > 0 ? true : undefined,
  );
}

async function live(indexer: IndexerRun): Promise<void> {
  await waitFor('live', async () => (['live', 'idle'].includes((await indexer.status()).state) ? true : undefined));
}

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
  calm = await createTestDatabase();
  hostile = await createTestDatabase();
  await query(hostile.url, `create role ${writer} login password 'secret'`);
  await query(hostile.url, `create role ${reader} login password 'secret'`);
  await query(hostile.url, `grant create on database ${new URL(hostile.url).pathname.slice(1)} to ${writer}`);
  await query(
    hostile.url,
    `create schema decoy; create table decoy.stream (id int); grant all on schema decoy to public`,
  );
  await setAgainstUs(writer, { ...meaning, ...ownChoice, ...limits });
});
afterAll(async () => {
  await sandbox.close();
  for (const role of [reader, writer]) {
    await query(hostile.url, `drop owned by ${role} cascade`);
    await query(hostile.url, `drop role ${role}`);
  }
  await Promise.all([calm.drop(), hostile.drop()]);
});

describe('database role with hostile defaults', { timeout: 180_000 }, () => {
  it('stores the same rows as a role without defaults, also after a restart', async () => {
    const steps = new Steps(sandbox.ledger, 5);
    let made = 0;
    const grow = (updates: number): void => {
      for (const end = made + updates; made < end; made += 1) steps.step(startAt + made * 1_000_000);
    };
    grow(200);
    for (const more of [500, 60]) {
      await using one = await runIndexer(envOf(calm.url));
      await using other = await runIndexer(envOf(urlOf(writer)));
      await Promise.all([live(one), live(other)]);
      grow(more);
      const end = sandbox.ledger.ledgerEnd();
      await Promise.all([one.reaches(end, 60_000), other.reaches(end, 60_000)]);
      await Promise.all([packagesRead(calm.url), packagesRead(hostile.url)]);
      // A transient failure could hide that a setting is missing.
      const failures = other.log.filter((line) => line.includes('"level":"error"') || line.includes('STORE_'));
      expect(failures.join('\n')).toBe('');
      await staysIdle();
    }
    expect(await digestOf(hostile.url, 'ledger')).toBe(await digestOf(calm.url, 'ledger'));
  });

  it('passes verify and verify --invariants', async () => {
    expect(await runVerify([], envOf(urlOf(writer)))).toMatchObject({ code: 0, outcome: 'equal' });
    expect(await runVerify(['--invariants'], envOf(urlOf(writer)))).toMatchObject({ code: 0, outcome: 'equal' });
  });

  it('prints the same command output as a role without defaults', async () => {
    const answers = async (url: string) => {
      const ran = async (...words: string[]) => await programInProcess(words, { DATABASE_URL: url });
      return {
        rebuilt: (await ran('views', 'rebuild'), await ran('views', 'list', '--json')),
        times: await ran(
          'query',
          "select max(record_time) as at, interval '90 minutes' as long, 0.1::float8 as part from explore.updates",
        ),
        slow: await ran('query', `select 1 as one from pg_sleep(${limits.statement_timeout / 800})`),
      };
    };
    const actual = Object.entries(await answers(urlOf(writer))).map(([name, { code, stdout }]) => [name, code, stdout]);
    const expected = Object.entries(await answers(calm.url)).map(([name, { code, stdout }]) => [name, code, stdout]);
    expect(actual).toEqual(expected);
    expect(expected.map(([, code]) => code)).toEqual([0, 0, 0]);
    expect((await programInProcess(['status'], { DATABASE_URL: urlOf(writer) })).code).toBe(0);
  });

  it('reads the same rows from reader views as a role without defaults', async () => {
    await runCommand(grantReaderCommand, [reader], { DATABASE_URL: hostile.url });
    await setAgainstUs(reader, meaning);
    const views = await query(
      hostile.url,
      `select format('select to_jsonb(v) || jsonb_build_object(%s) as row from %I.%I v', spans.list, n.nspname, c.relname) as question
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        cross join lateral (select string_agg(format('%L, extract(epoch from v.%I)', attname, attname), ', ') as list
                              from pg_attribute where attrelid = c.oid and atttypid = 'interval'::regtype) spans
        where n.nspname in ('explore', 'pqs', 'typed') and c.relkind = 'v' order by 1`,
    );
    const questions = [...views.map(({ question }) => String(question)), ...functions];
    const actual = await answersOf(urlOf(reader), questions);
    const expected = await answersOf(hostile.url, questions);
    for (const [at, question] of questions.entries()) expect(actual[at], question).toEqual(expected[at]);
    expect(expected.filter((rows) => rows.length > 0).length).toBeGreaterThan(questions.length / 2);
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
async function answersOf(url: string, questions: readonly string[]): Promise<readonly (readonly string[])[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const answers: string[][] = [];
    for (const question of questions) {
      const rows = await client.query<{ row: unknown }>(question).then(
        (found) => found.rows.map(({ row }) => JSON.stringify(row, asInstant)),
        (thrown: unknown) => [thrown instanceof Error ? thrown.message : 'failed'],
      );
      answers.push(rows.toSorted());
    }
    return answers;
  } finally {
    await client.end();
  }
}

function asInstant(_key: string, value: unknown): unknown {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$/.test(value);
  return isTime ? Date.parse(value) : value;
}
