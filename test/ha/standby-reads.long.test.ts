/**
 * A real streaming standby returns the same results as its primary at the same offset: every documented statement,
 * every function that readers may call, every view, and the commands that read.
 */
import { Client, DatabaseError } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { diffCommand } from '../../src/cli/inspect/diff.ts';
import { explainCommand } from '../../src/cli/inspect/explain.ts';
import { queryCommand } from '../../src/cli/inspect/query.ts';
import type { SizeReport } from '../../src/cli/inspect/size-report.ts';
import { accountStatementCommand } from '../../src/cli/inspect/account-statement.ts';
import { statusCommand } from '../../src/cli/inspect/status.ts';
import { viewsCommand } from '../../src/cli/inspect/views.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { verifyCommand } from '../../src/cli/verify/verify.ts';
import type { Command } from '../../src/cli/command-line/command.ts';
import type { ExitCode } from '../../src/errors/exit-code.ts';
import { CapturedOutput } from '../cli/verb-run.ts';
import { documentedSql, functionCalls, viewNames } from '../read/demo/reader-statements.ts';
import { runCommand } from '../support/run-command.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { startServers, type Servers } from './servers.ts';

let sandbox: Sandbox;
let servers: Servers;
let openServers: { readonly primary: Client; readonly standby: Client };

const index = (): Promise<IndexerRun> =>
  runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: servers.primary,
    LEDGER_INTERFACES: demoInterfaces.join(','),
    INDEXER_START: 'genesis',
  });

/** Waits until the standby has replayed all commits of the primary. */
async function waitForReplay(): Promise<void> {
  const [primary] = await query(servers.primary, 'select pg_current_wal_lsn()::text as lsn');
  await waitFor('the standby has replayed the log', async () => {
    const sql = `select pg_last_wal_replay_lsn() >= '${String(primary?.['lsn'])}'::pg_lsn as level`;
    const rows = await query(servers.standby, sql).catch(() => []);
    return rows[0]?.['level'] === true ? true : undefined;
  });
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("set time zone 'UTC'; set jit = off");
  return client;
}

beforeAll(async () => {
  [sandbox, servers] = await Promise.all([startSandbox({ limits: { checkpointIntervalMs: 50 } }), startServers()]);
  generateHistory(sandbox.ledger, { seed: 5, updates: 400, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
  {
    await using indexer = await index();
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
    await waitFor('typed views are there', async () => {
      const sql = `select count(*)::int as count from pg_views where schemaname = 'typed'`;
      return Number((await query(servers.primary, sql))[0]?.['count']) > 25 ? true : undefined;
    });
  }
  await query(servers.primary, 'create schema reports; analyze');
  await waitForReplay();
  const [primary, standby] = await Promise.all([connect(servers.primary), connect(servers.standby)]);
  openServers = { primary, standby };
});
afterAll(async () => {
  await Promise.all([openServers.primary.end(), openServers.standby.end()]);
  await Promise.all([servers[Symbol.asyncDispose](), sandbox.close()]);
});

/** The sorted rows, or the SQLSTATE of the error. */
async function queryBoth(client: Client, sql: string): Promise<string | readonly string[]> {
  try {
    const queryResult = (await client.query(sql)) as Result | readonly Result[];
    return [queryResult]
      .flat()
      .flatMap(({ rows }) => rows.map((row) => JSON.stringify(row)))
      .toSorted();
  } catch (error) {
    if (error instanceof DatabaseError) return error.code ?? '';
    throw error;
  }
}

interface Result {
  readonly rows: readonly object[];
}

/**
 * Runs the statement on both servers, in read-only transactions that are rolled back. Therefore statements that fail
 * on a standby also fail on the primary, and session settings (of set_latest in pqs) are undone.
 */
async function compareServers(sql: string): Promise<string | readonly string[]> {
  const fixedTimeSql = sql.replaceAll(/\bnow\(\)/g, `timestamptz '${now}'`);
  const [primary, standby] = await Promise.all(
    [openServers.primary, openServers.standby].map(async (client) => {
      await client.query('begin read only');
      const result = await queryBoth(client, fixedTimeSql);
      await client.query('rollback');
      return result;
    }),
  );
  if (primary === undefined) throw new Error('nobody answered');
  expect(standby, sql).toEqual(primary);
  return primary;
}

const now = new Date().toISOString();
const readOnly = '25006';

it('primary and standby return the same rows for every documented statement', async () => {
  let nonEmptyCount = 0;
  for (const sql of documentedSql) {
    const result = await compareServers(sql);
    if (result === readOnly) expect(sql, 'a rejected statement writes').toMatch(/^(create|refresh) /m);
    else expect(Array.isArray(result), `${String(result)} ${sql}`).toBe(true);
    nonEmptyCount += Array.isArray(result) && result.length > 0 ? 1 : 0;
  }
  expect(nonEmptyCount).toBeGreaterThan(35);
});

it('primary and standby return the same rows for every view', async () => {
  const names = await viewNames(openServers.primary);
  expect(names.length).toBeGreaterThan(80);
  for (const name of names) {
    const sql = `select count(*), md5(string_agg(v::text, ',' order by v::text)) from ${name} v`;
    expect(Array.isArray(await compareServers(sql)), name).toBe(true);
  }
});

/**
 * SQLSTATEs of functions whose generated calls fail: three require a choice or an interface and get the name of a
 * template, and one requires a projection of a user.
 */
const expectedFailures: ReadonlyMap<string, string> = new Map([
  ['pqs.__choice_pks', '42704'],
  ['pqs.exercises', '42704'],
  ['pqs.lookup_exercises', '42704'],
  ['pqs.__derived_rows', '3F000'],
]);

it('primary and standby return the same results for every function that readers may call', async () => {
  const callCounts = await functionCalls(openServers.primary);
  expect(callCounts.length).toBeGreaterThan(100);
  let nonEmptyCount = 0;
  for (const { name, call } of callCounts) {
    const result = await compareServers(call);
    if (typeof result === 'string') expect(result, call).toBe(expectedFailures.get(name));
    nonEmptyCount += result.length > 0 ? 1 : 0;
  }
  expect(nonEmptyCount).toBeGreaterThan(90);
  for (const call of ['pqs.exercises()', `pqs.lookup_exercises((select contract_id from pqs.exercises() limit 1))`]) {
    expect((await compareServers(`select * from ${call}`)).length).toBeGreaterThan(0);
  }
});

/** Output and exit code of a command on this server. */
async function runOutput(
  url: string,
  command: Command,
  ...args: readonly string[]
): Promise<readonly [string, ExitCode]> {
  const stdout = new CapturedOutput({ env: {} });
  const env = { DATABASE_URL: url, LEDGER_URL: sandbox.url, INDEXER_HTTP_PORT: '1' };
  const print = (line: string): unknown => stdout.write(`${line}\n`);
  const code = await runCommand(command, args, env, { stdout, print: (line) => void print(line) });
  return [stdout.text, code];
}

it('commands that only read print the same output on primary and standby', async () => {
  const [row] = await query(
    servers.primary,
    `select owner, (select max("offset") from explore.updates)::text as "offset" from explore.token_holdings limit 1`,
  );
  const [owner, offset] = [String(row?.['owner']), String(row?.['offset'])];
  const readCommands: readonly (readonly [Command, readonly string[]])[] = [
    [queryCommand, ['select * from explore.token_balances order by 1, 2, 3', '--json']],
    [accountStatementCommand, ['--party', owner, '--json']],
    [explainCommand, [offset, '--json']],
    [diffCommand, ['1', offset, '--json']],
    [viewsCommand, ['list', '--json']],
  ];
  for (const [command, args] of readCommands) {
    const [primary, standby] = [
      await runOutput(servers.primary, command, ...args),
      await runOutput(servers.standby, command, ...args),
    ];
    expect(standby, command.name).toEqual(primary);
    expect(primary[0].length, command.name).toBeGreaterThan(50);
  }
});

it('verify finds no differences on primary and standby', async () => {
  for (const url of [servers.primary, servers.standby]) {
    const [report, code] = await runOutput(
      url,
      verifyCommand,
      '--invariants',
      '--tokens',
      '--tail',
      '100',
      '--acs',
      '--json',
    );
    expect([(JSON.parse(report) as { outcome: string }).outcome, code]).toEqual(['equal', 0]);
  }
});

it('status prints the same state, and --sizes the same tables, on primary and standby', async () => {
  const [primary, standby] = await Promise.all(
    [servers.primary, servers.standby].map(async (url) => {
      const [statusText] = await runOutput(url, statusCommand, '--json');
      const [sizes] = await runOutput(url, statusCommand, '--sizes', '--json');
      const status = { ...(JSON.parse(statusText) as object), source: url };
      return { status, sizes: JSON.parse(sizes) as SizeReport };
    }),
  );
  expect(standby?.status).toEqual({ ...primary?.status, source: servers.standby });
  expect([primary?.sizes.server.standby, standby?.sizes.server.standby]).toEqual([false, true]);
  // The primary reserves pages without logging this, so its files may be larger.
  const tablesOf = (sizes: SizeReport | undefined): unknown => sizes?.tables.map(({ table }) => table).toSorted();
  expect(tablesOf(standby?.sizes)).toEqual(tablesOf(primary?.sizes));
  expect(standby?.sizes.events).toBeGreaterThan(500);
  expect(standby?.sizes.notes).toContainEqual(expect.stringMatching(/a standby/));
});

it('a standby rejects grant-reader and LISTEN', async () => {
  const grantOutput = runOutput(servers.standby, grantReaderCommand, 'analyst');
  await expect(grantOutput).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
  await expect(query(servers.standby, 'listen ledger_offset')).rejects.toMatchObject({ code: readOnly });
});

it('wait_for_offset on a standby waits until the offset is replayed', async () => {
  const [{ checkpoint } = {}] = await query(servers.standby, 'select checkpoint::int from ledger.stream');
  const next = Number(checkpoint) + 1;
  const standbyWait = query(servers.standby, `select explore.wait_for_offset(${String(next)}) as reached`);
  await waitFor('the standby waits', async () => {
    const sql = `select from pg_stat_activity where query like '%wait_for_offset(${String(next)})%' and pid <> pg_backend_pid()`;
    return (await query(servers.standby, sql)).length === 1 ? true : undefined;
  });
  await query(servers.primary, `update ledger.stream set checkpoint = ${String(next)}`);
  expect(await standbyWait).toEqual([{ reached: String(next) }]);
});

it('a primary reports the replay progress of a standby only to members of pg_monitor', async () => {
  const replicationSql = `select application_name, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 as bytes from pg_stat_replication`;
  await query(servers.primary, 'create role sees_nothing; create role monitors in role pg_monitor');
  expect(await queryAs('monitors', replicationSql)).toEqual([
    { application_name: 'walreceiver', bytes: expect.any(Number) as number },
  ]);
  expect(await queryAs('sees_nothing', replicationSql)).toEqual([{ application_name: 'walreceiver', bytes: null }]);
});

async function queryAs(role: string, sql: string): Promise<unknown> {
  const client = await connect(servers.primary);
  try {
    await client.query(`set role ${role}`);
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
