/** Tests the output and the arguments of `query`, which never changes data. */
import { spawnSync } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ask as askDatabase } from '../../src/store/reads/answer.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { main, program, startProgram, type ProcessResult } from './program.ts';
import { needs } from '../support/skips/needs.ts';
import { terminalSkipReason } from '../support/terminal.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await query(database.url, 'create schema kept; create table kept.rows (n integer); insert into kept.rows values (1)');
});
afterAll(async () => {
  await database.drop();
});

function runQueryCommand(...args: readonly string[]): Promise<ProcessResult> {
  return program(['query', ...args], { DATABASE_URL: database.url });
}

async function queryOutput(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runQueryCommand(...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

describe('query output', () => {
  const values = `select 12345678901234567890.123456789012345678 as n, null as nothing, '' as empty, 'a,"b' as text,
    true as yes, timestamptz '2026-01-05 08:00:00Z' as at, array['x', null] as list, jsonb '{"deep": [1.10]}' as body`;

  it('contains one JSON object per row, with all digits', async () => {
    expect(await queryOutput(values)).toBe(
      '{"n":12345678901234567890.123456789012345678,"nothing":null,"empty":"","text":"a,\\"b","yes":true,' +
        '"at":"2026-01-05T08:00:00+00:00","list":["x",null],"body":{"deep": [1.10]}}\n',
    );
    // This column has the same name as the alias of the row inside the program.
    expect(await queryOutput('select 1 as answer;')).toBe('{"answer":1}\n');
  });

  it('distinguishes null and empty text in CSV, and escapes formulas with --spreadsheet', async () => {
    expect(await queryOutput(values, '--csv')).toBe(
      'n,nothing,empty,text,yes,at,list,body\r\n' +
        '12345678901234567890.123456789012345678,,"","a,""b",t,2026-01-05 08:00:00+00,"{x,NULL}","{""deep"": [1.10]}"\r\n',
    );
    const formulas = String.raw`select -1 as n, E'a\t=1' as "=t", 'b|+1', '＝1', 'c; @d', 'alice::1220-x'`;
    expect((await queryOutput(formulas, '--csv')).split('\r\n')[1]).toBe('-1,a\t=1,b|+1,＝1,c; @d,alice::1220-x');
    expect(await queryOutput(formulas, '--csv', '--spreadsheet')).toBe(
      `n,'=t,?column?,?column?,?column?,?column?\r\n-1,a\t'=1,b|'+1,'＝1,c;' @d,alice::1220-x\r\n`,
    );
    expect((await runQueryCommand('select 1', '--spreadsheet')).stderr).toContain('--spreadsheet needs --csv');
    expect(await queryOutput('--csv', 'select 1 as n where false')).toBe('n\r\n');
  });

  it('is an aligned table without control sequences for --table', async () => {
    const rows = `values (7, 'a'), (1234, e'b\\u001b[31m')`;
    expect(await queryOutput(`select * from (${rows}) as v(n, text)`, '--table')).toBe(
      '   n  text\n   7  a\n1234  b [31m\n',
    );
    expect(await queryOutput('select 1 where false', '--table')).toBe('none\n');
  });

  it('is the same for a statement with a final semicolon and comment', async () => {
    for (const format of ['--json', '--csv', '--table']) {
      expect(await queryOutput('select 1 as n; -- done\n', format)).toBe(await queryOutput('select 1 as n', format));
    }
  });

  it('is complete if the rows are larger than a page', async () => {
    const lines = (await queryOutput(`select repeat('x', 300000) as x from generate_series(1, 250)`))
      .trimEnd()
      .split('\n');
    expect([lines.length, ...new Set(lines.map((line) => line.length))]).toEqual([250, 300_008]);
  });

  it('is complete for 2,500 rows', async () => {
    const lines = (await queryOutput('select g from generate_series(1, 2500) as g')).trimEnd().split('\n');
    expect([lines.length, lines[0], lines[2499]]).toEqual([2_500, '{"g":1}', '{"g":2500}']);
  });

  it('contains the results of explain and show', async () => {
    expect(await queryOutput('show server_encoding')).toBe('{"server_encoding":"UTF8"}\n');
    expect(await queryOutput('-- a comment\nexplain (costs off) select 1', '--table')).toBe('QUERY PLAN\nResult\n');
  });
});

describe('query', () => {
  it.each([
    ['delete from kept.rows', 'query takes one select'],
    ['select 1; delete from kept.rows', 'query takes one select'],
    ['explain analyze delete from kept.rows', 'this command changes nothing'],
    ['with gone as (delete from kept.rows returning n) select * from gone', 'QUERY_REFUSED: '],
    ['commit', 'query takes one select'],
    ["/* /* */ show */ copy (select 1) to '/tmp/copied'", 'query takes one select'],
    ['explain execute nothing', 'QUERY_REFUSED: '],
  ])('rejects %s', async (statement, reason) => {
    for (const format of ['--json', '--table']) {
      const { code, stdout, stderr } = await runQueryCommand(statement, format);
      expect(stderr).toContain(reason);
      expect([code, stdout]).toEqual([2, '']);
    }
    expect(await query(database.url, 'select n from kept.rows')).toEqual([{ n: 1 }]);
  });

  it('creates no large object, and rejects lo_from_bytea since Postgres 16', async () => {
    const { code } = await runQueryCommand("select lo_from_bytea(0, 'x')");
    const [server] = await query(database.url, `select current_setting('server_version_num')::integer as version`);
    expect(code).toBe(Number(server?.['version']) < 160_000 ? 0 : 2);
    expect(await query(database.url, 'select oid from pg_largeobject_metadata')).toEqual([]);
  });

  it('reports a statement error with the message of Postgres and its position', async () => {
    for (const format of ['--json', '--table']) {
      const { code, stderr } = await runQueryCommand("select n\n  from kept.rows\n where 'ä' = nn", format);
      expect(stderr).toMatch(/QUERY_REFUSED: column "nn" does not exist at line 3, column 14 \(SQLSTATE 42703\)/);
      expect(code).toBe(2);
    }
  });

  it('changes nothing with explain analyze', async () => {
    await queryOutput('explain analyze create table kept.made as select 1 as n');
    await queryOutput('explain analyze select 1 as n into kept.made');
    expect(await query(database.url, `select to_regclass('kept.made') as made`)).toEqual([{ made: null }]);
  });

  it('rejects an unquoted statement and two output formats', async () => {
    expect((await runQueryCommand('select', 'n', 'from', 'kept.rows')).stderr).toContain('put it in quotes');
    expect((await runQueryCommand('select 1', '--csv', '--json')).stderr).toContain('one output format');
    expect(await runQueryCommand('--json', '--postgres-schema', 'x', 'select 1 as one')).toMatchObject({
      stdout: '{"one":1}\n',
    });
  });

  it('exits with 77 for a table that the role may not read', async () => {
    const role = `nobody_${String(process.pid)}`;
    await query(database.url, `create role ${role} login password 'x'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'x';
    const { code, stderr } = await program(['query', 'select * from kept.rows'], { DATABASE_URL: url.href });
    await query(database.url, `drop role ${role}`);
    expect(stderr).toContain('permission denied for schema kept');
    expect(code).toBe(77);
  });
});

describe('query search path', () => {
  it('resolves names in the order explore, typed, pqs, storage', async () => {
    const schemas = ['explore', 'typed', 'pqs', 'ledger', 'desk_explore', 'desk'];
    await query(
      database.url,
      schemas.map((name) => `create schema ${name}; create view ${name}.whose as select '${name}' as name;`).join(' '),
    );
    for (const [name, next] of ['explore', 'typed', 'pqs', 'ledger'].map((schemaName, index, sources) => [
      schemaName,
      sources[index + 1],
    ])) {
      expect(await queryOutput('select name from whose')).toBe(`{"name":"${String(name)}"}\n`);
      if (next !== undefined) await query(database.url, `drop view ${String(name)}.whose`);
    }
    expect(await queryOutput('select name from whose', '--postgres-schema', 'desk')).toBe('{"name":"desk_explore"}\n');
    await query(database.url, schemas.map((name) => `drop schema ${name} cascade;`).join(' '));
  });
});

describe('query on a terminal', () => {
  /** Output lines on a terminal with this number of columns. */
  function runInTerminal(columns: number, ...args: readonly string[]): readonly string[] {
    const command = [process.execPath, main, 'query', ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    const { stdout, status } = spawnSync(
      'script',
      ['-qefc', `stty cols ${String(columns)} && exec ${command.join(' ')}`, '/dev/null'],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
      },
    );
    expect(status).toBe(0);
    return stdout.trimEnd().split(/\r+\n/);
  }

  const statement = `select 7 as n, repeat('long', 100) as text, jsonb '{"a": 1}' as body`;

  it('truncates long values to the terminal width', needs(terminalSkipReason), () => {
    expect(runInTerminal(40, statement)).toEqual([
      `n  ${'text'.padEnd(27)}  body`,
      `7  ${'long'.repeat(6)}lo…  {"a": 1}`,
    ]);
  });

  it('prints one line per column when the columns are too narrow', needs(terminalSkipReason), () => {
    const columns = Array.from({ length: 12 }, (_, index) => `repeat('x', 30) as c${String(index)}`).join(', ');
    const lines = runInTerminal(60, `select ${columns}`);
    expect(lines).toHaveLength(13);
    expect(lines.slice(0, 2)).toEqual([`-[ 1 ]${'-'.repeat(54)}`, `c0   ${'x'.repeat(30)}`]);
  });

  it('uses 80 columns if the width is unknown', needs(terminalSkipReason), () => {
    expect(runInTerminal(0, `select repeat('x', 100) as x`)[1]).toBe(`${'x'.repeat(79)}…`);
  });

  it('does not truncate JSON, CSV and plans', needs(terminalSkipReason), () => {
    const longRowSql = `select repeat('x', 100) as x`;
    expect(runInTerminal(40, longRowSql, '--json')).toEqual([`{"x":"${'x'.repeat(100)}"}`]);
    expect(runInTerminal(40, longRowSql, '--csv')).toEqual(['x', 'x'.repeat(100)]);
    const plan = runInTerminal(40, `explain (costs off, verbose) select '${'x'.repeat(90)}' as x`);
    expect(plan.join('\n')).toContain('x'.repeat(90));
  });

  it('does not truncate a table if the output is not a terminal', async () => {
    expect(await queryOutput(`select repeat('x', 300) as x`, '--table')).toBe(`x\n${'x'.repeat(300)}\n`);
  });
});

describe('query -', () => {
  const runWithInput = (input: Buffer) =>
    spawnSync(process.execPath, [main, 'query', '-'], { input, encoding: 'utf8', env: { DATABASE_URL: database.url } });

  it('reads UTF-8 from standard input, and rejects other encodings', () => {
    expect(runWithInput(Buffer.from("\uFEFFselect 'ä' as text"))).toMatchObject({
      status: 0,
      stdout: '{"text":"ä"}\n',
    });
    expect(runWithInput(Buffer.from("select 'ä'", 'latin1')).stderr).toContain('not UTF-8');
    expect(runWithInput(Buffer.from('select 1\0')).stderr).toContain('NUL');
  });
});

const fullDeviceSkipReason = existsSync('/dev/full') ? undefined : 'needs /dev/full';

it('query exits with OUTPUT_NOT_WRITTEN if its output device is full', needs(fullDeviceSkipReason), () => {
  const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const;
  const env = { DATABASE_URL: database.url };
  const { status, stderr } = spawnSync(process.execPath, [main, 'query', 'select 1'], { stdio: [...stdio], env });
  expect(String(stderr)).toContain('OUTPUT_NOT_WRITTEN');
  expect(status).toBe(75);
});

it('query sets idle_in_transaction_session_timeout to one hour', async () => {
  expect(await queryOutput('show idle_in_transaction_session_timeout', '--csv')).toContain('1h');
});

it('query sends no statement if its signal is already aborted', async () => {
  const { url } = database;
  const stopped = openDatabase({ url, schema: 'kept', statementTimeoutMs: 10_000, applicationName: 'test' });
  const options = { asJson: false, stop: AbortSignal.abort() };
  const queryMock = vi.fn<() => Promise<void>>();
  await expect(
    askDatabase(stopped, { statement: 'select 1', paged: true, explains: false }, options, queryMock),
  ).rejects.toThrow();
  expect(queryMock).not.toHaveBeenCalled();
  await stopped.close();
});

it('query cancels its statement on the server on SIGINT', async () => {
  const runningProgram = startProgram(['query', 'select pg_sleep(60)'], { DATABASE_URL: database.url });
  const sleepingPids = `select pid from pg_stat_activity where application_name = 'ledger-indexer query' and wait_event = 'PgSleep'`;
  await waitFor('it sleeps', async () => ((await query(database.url, sleepingPids)).length === 1 ? true : undefined));
  runningProgram.signal('SIGINT');
  const { code, stderr, ms } = await runningProgram.ended;
  expect(stderr).toContain('INTERRUPTED');
  expect(code).toBe(75);
  expect(ms).toBeLessThan(30_000);
  expect(await query(database.url, sleepingPids)).toEqual([]);
});

describe('query without DATABASE_URL', () => {
  it('uses the embedded server of the data folder, or exits with 78 if no server runs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-query-'));
    const runQuery = () => program(['query', 'select current_database() as name'], { INDEXER_DATA_DIR: folder });
    try {
      {
        await using server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
        expect(server.reused).toBe(false);
        expect(await runQuery()).toMatchObject({ code: 0, stdout: '{"name":"ledger_indexer"}\n' });
      }
      const { code, stderr } = await runQuery();
      expect(stderr).toContain('DATABASE_NOT_FOUND');
      expect(code).toBe(78);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
