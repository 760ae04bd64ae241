/** `rebuild --drop-previous` counts what it would delete, and deletes it only with `--yes`. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rebuildCommand } from '../../src/cli/rebuild/rebuild.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { otherSchemaComment } from '../../src/store/swap/stream-schemas.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

let home: TestDatabase;
beforeEach(async () => {
  home = await createTestDatabase();
  const options = { url: home.url, schema: 'ledger', applicationName: 'drop-previous', statementTimeoutMs: 10_000 };
  const database = openDatabase(options);
  await migrate(database);
  await database.close();
});
afterEach(() => home.drop());

async function rebuild(...args: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(rebuildCommand, args, { DATABASE_URL: home.url }, { print: (line) => lines.push(line) });
  return lines;
}

/** A previous schema with two tables, an index, a view and a sequence. */
const previous = `
  create schema ledger_previous;
  comment on schema ledger_previous is '${otherSchemaComment('ledger', 'previous').replaceAll("'", "''")}';
  create table ledger_previous.updates ("offset" bigint primary key, body text);
  insert into ledger_previous.updates select n, repeat('x', 500) from generate_series(1, 1234) n;
  create table ledger_previous.contracts (contract_id text);
  create view ledger_previous.newest as select max("offset") from ledger_previous.updates;
  create sequence ledger_previous.numbers;`;

const schemas = async (): Promise<readonly unknown[]> =>
  (
    await query(
      home.url,
      `select nspname::text as name from pg_namespace where nspname ~ '^ledger(_previous)?$' order by 1`,
    )
  ).map(({ name }) => name);

it('rebuild --drop-previous without --yes reports the schema size and deletes nothing', async () => {
  await query(home.url, previous);
  await query(home.url, 'analyze ledger_previous.updates, ledger_previous.contracts');
  const sizes = `select pg_total_relation_size('ledger_previous.updates') as updates, pg_total_relation_size('ledger_previous.contracts') as contracts`;
  const [size] = await query(home.url, sizes);
  const kib = ((Number(size?.['updates']) + Number(size?.['contracts'])) / 1024).toFixed(1);
  expect(await rebuild('--drop-previous')).toEqual([
    `schema "ledger_previous" would be deleted: 4 relations, about 1,234 rows, ${kib} KiB; ` +
      'to delete it, run: ledger-indexer rebuild --drop-previous --yes',
  ]);
  expect(await schemas()).toEqual(['ledger', 'ledger_previous']);
});

it('rebuild --drop-previous --yes deletes the previous schema and reports its size', async () => {
  await query(home.url, previous);
  expect(await rebuild('--drop-previous', '--yes')).toEqual([
    expect.stringMatching(
      /^schema "ledger_previous" is deleted: 4 relations, (about|at least) [\d,]+ rows, \d+\.\d KiB; /u,
    ),
  ]);
  expect(await schemas()).toEqual(['ledger']);
});

it('rebuild --drop-previous fails without a previous schema or with a dependent view', async () => {
  await expect(rebuild('--drop-previous')).rejects.toMatchObject({ code: 'REBUILD_REFUSED' });
  await query(home.url, `${previous} create view public.mine as select * from ledger_previous.updates`);
  await expect(rebuild('--drop-previous', '--yes')).rejects.toMatchObject({ code: 'REBUILD_REFUSED' });
  expect(await schemas()).toEqual(['ledger', 'ledger_previous']);
});
