/**
 * Exports of projections that users add. After every change of history the files have the rows of the view, and never
 * rows that the database has replaced.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportCommand } from '../../../src/cli/lake/export.ts';
import { pruneCommand } from '../../../src/cli/maintain/prune.ts';
import { redactCommand } from '../../../src/cli/maintain/redact.ts';
import {
  duck,
  exportTo,
  filesIn,
  lakeDir,
  manifestOf,
  type LakeDir,
  type ManifestFile,
} from '../../lake/lake-world.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { contentsSql, transfersSql, UserWorld } from './world.ts';

const tokens = { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis', INDEXER_PROJECTIONS: 'built-in' };
let user: UserWorld;
let lake: LakeDir;
beforeAll(async () => {
  user = await UserWorld.open(120);
  lake = lakeDir();
  await user.add('contents', contentsSql);
  await user.add('own_contents', contentsSql, '--no-look-ups', '--key', 'node_id');
});
afterAll(async () => {
  lake[Symbol.dispose]();
  await user.close();
});

const names = ['contents', 'own_contents'] as const;

/** Exports in ranges of a third of the history, then up to the checkpoint. */
async function exportAll(...options: readonly string[]): Promise<Record<string, unknown>> {
  const checkpoint = await user.world.checkpoint();
  for (const until of [checkpoint / 3, (checkpoint * 2) / 3].map(Math.floor)) {
    if (until > (existsSync(join(lake.path, 'manifest.json')) ? manifestOf(lake.path).until : 0))
      await exportTo(lake.path, user.url, 'ledger', '--views', 'derived.*', '--until', String(until), ...options);
  }
  return exportTo(lake.path, user.url, 'ledger', '--views', 'derived.*', ...options);
}

/** Rows of a projection in the files that the manifest names. */
async function exportedRows(name: string, columns: string): Promise<readonly string[]> {
  const files = filesOf(name).flatMap(({ path }) => (path === null ? [] : [`'${join(lake.path, path)}'`]));
  if (files.length === 0) return [];
  const rows = await duck(`select ${columns} from read_parquet([${files.join(', ')}])`);
  return rows.map((row) => JSON.stringify(Object.values(row).map(String))).toSorted();
}

const filesOf = (name: string): readonly ManifestFile[] =>
  manifestOf(lake.path).files.filter(({ table }) => table === `derived.${name}`);

/** Compares the files with the view. The rows of JSON are compared by their text. */
async function expectExported(name: string): Promise<void> {
  const columns =
    '"offset", node_id, contract_id, payload::text as payload, array_to_string(parties, \',\') as parties';
  const expected = await query(user.url, `select ${columns} from derived.${name}`);
  expect(await exportedRows(name, columns), name).toEqual(
    expected.map((row) => JSON.stringify(Object.values(row).map(String))).toSorted(),
  );
  expect(expected.length).toBeGreaterThan(10);
}

async function expectAllExported(): Promise<void> {
  for (const name of names) await expectExported(name);
}

const pathsOf = (name: string): readonly (string | null)[] => filesOf(name).map(({ path }) => path);

/** The newest contract that has ended. */
async function endedContract(): Promise<{ readonly id: string; readonly offset: number }> {
  const row = await user.world.row(
    `select ledger.id_text(e.contract_id) as id, e."offset"::int as "offset" from ledger.ended e
       join ledger.contracts c using ("offset", node_id) where c.redaction_id is null and e.ended_by = 'a'
      order by e."offset" desc limit 1`,
  );
  return { id: String(row['id']), offset: Number(row['offset']) };
}

/** Files in the folder of the export, named by the manifest or not, that have the payload of a contract. */
async function filesWithPayload(id: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of filesIn(lake.path).filter((name) => /^derived\.\w*contents\/.*parquet$/.test(name))) {
    const [row] = await duck(
      `select count(*)::int as rows from read_parquet('${join(lake.path, path)}') where contract_id = '${id}' and payload is not null`,
    );
    if (Number(row?.['rows']) > 0) found.push(path);
  }
  return found;
}

/** A contract that only the export has. */
async function prunedContract(): Promise<string> {
  const path = join(lake.path, String(pathsOf('contents')[0]));
  const exported = await duck(`select contract_id from read_parquet('${path}') where payload is not null order by 1`);
  const stored = await query(user.url, 'select ledger.id_text(contract_id) as id from ledger.contracts');
  const ids = new Set(stored.map(({ id }) => String(id)));
  const id = exported.map((row) => String(row['contract_id'])).find((candidate) => !ids.has(candidate));
  if (id === undefined) throw new Error('no contract was pruned');
  return id;
}

async function payloadsOf(name: string, id: string): Promise<readonly string[]> {
  const rows = await exportedRows(name, `contract_id, payload::text as payload`);
  return rows
    .map((row) => JSON.parse(row) as readonly string[])
    .flatMap(([key, payload]) => (key === id ? [payload ?? ''] : []));
}

/** Makes a projection have rows up to an offset only, as while it is being stored. */
async function storeUpTo(level: number): Promise<void> {
  const after = `{(${String(level)},)}`;
  await query(
    user.url,
    `update ledger.projections set covered = covered - '${after}'::int8multirange, outdated = '{}' where name = 'contents$1'`,
  );
  await query(user.url, `delete from derived."contents$1" where "offset" > ${String(level)}`);
}

async function prune(before: number): Promise<void> {
  await runCommand(pruneCommand, ['--before', String(before), '--yes'], user.world.env());
}

describe('export of a projection of a user', () => {
  it('writes the ranges that are stored, and the others later', async () => {
    const first = await exportAll();
    expect(first).toMatchObject({ incomplete: { 'derived.contents': -1, 'derived.own_contents': -1 } });
    expect([...pathsOf('contents'), ...pathsOf('own_contents')].filter((path) => path !== null)).toEqual([]);
    await user.fill();
    expect(await exportAll()).toMatchObject({ incomplete: {} });
    await expectAllExported();
    expect(await exportAll()).toMatchObject({ files: 0, rows: 0 });
  });

  it('ends at the offset to which the rows are stored, and so does the hold', async () => {
    const before = await user.world.checkpoint();
    user.world.grow(30);
    await user.world.index('ledger', tokens);
    await user.fill();
    const level = Math.floor((before + (await user.world.checkpoint())) / 2);
    await storeUpTo(level);
    const result = await exportTo(lake.path, user.url, 'ledger', '--hold', 'lake');
    expect(result).toMatchObject({ incomplete: { 'derived.contents': level } });
    expect(await user.world.row(`select "offset"::int from ledger.retention_holds`)).toEqual({ offset: level });
    const lines = (await exportedRows('contents', '"offset"')).map((line) => Number((JSON.parse(line) as string[])[0]));
    expect(Math.max(...lines)).toBeLessThanOrEqual(level);
    expect(Math.max(...lines)).toBeGreaterThan(before);
    await user.fill();
    expect(await exportTo(lake.path, user.url, 'ledger', '--hold', 'lake')).toMatchObject({
      incomplete: {},
      rewritten: 1,
    });
    expect(await exportAll()).toMatchObject({ files: 0, rows: 0 });
    await expectAllExported();
    await query(user.url, 'delete from ledger.retention_holds');
  });

  it('keeps the files while unchanged rows are stored again', async () => {
    await storeUpTo(5);
    expect(await exportAll()).toMatchObject({ incomplete: {}, files: 0 });
    await user.fill();
    expect(await exportAll()).toMatchObject({ incomplete: {}, files: 0 });
  });

  it('has the rows of the role that may not log in, and is refused to a role limited to parties', async () => {
    const url = new URL(user.url);
    url.searchParams.set('options', `-c role=${user.role}`);
    using other = lakeDir();
    await exportTo(other.path, url.href, 'ledger', '--views', 'derived.own*');
    expect(Object.keys(manifestOf(other.path).tables).filter((name) => name.includes('.'))).toEqual([
      'derived.own_contents',
    ]);
    expect(manifestOf(other.path).tables['derived.own_contents']?.columns).toEqual([
      { name: 'offset', type: 'int64' },
      { name: 'node_id', type: 'int32' },
      { name: 'contract_id', type: 'text' },
      { name: 'payload', type: 'text' },
      { name: 'parties', type: 'texts' },
    ]);
    await expect(
      runCommand(exportCommand, ['--to', other.path, '--views', 'pqs.*'], user.world.env()),
    ).rejects.toMatchObject({
      code: 'USAGE',
    });
  });

  it('loses redacted contents at once, and gets the new rows when they are stored', async () => {
    const { id, offset } = await endedContract();
    expect((await filesWithPayload(id)).length).toBe(2);
    await query(user.url, `select pqs.redact_contract('${id}', 'redaction')`);
    const before = pathsOf('own_contents');
    expect(await exportAll()).toMatchObject({ incomplete: { 'derived.contents': expect.any(Number) as number } });
    expect(await filesWithPayload(id)).toEqual([]);
    await user.fill();
    expect(await exportAll()).toMatchObject({ incomplete: {} });
    expect(await payloadsOf('contents', id)).toEqual(['null']);
    expect(await payloadsOf('own_contents', id)).toEqual(['null']);
    await expectAllExported();
    // The rows of own_contents depend on events at their own offset only.
    const changed = pathsOf('own_contents').filter((path) => !before.includes(path));
    expect(changed.length).toBeLessThan(before.length);
    expect(filesOf('own_contents').find(({ from, to }) => from <= offset && to >= offset)?.path).toBe(changed[0]);
    expect(await exportAll()).toMatchObject({ files: 0 });
  });

  it('keeps the rows of the previous SELECT until those of a changed one are stored', async () => {
    const changed = contentsSql.replace('e.parties', `e.parties[1:1] as parties`);
    await user.add('contents', changed);
    expect(await exportAll()).toMatchObject({ files: 0 });
    await user.fill();
    expect((await exportAll())['rewritten']).toBeGreaterThan(0);
    await expectAllExported();
    await user.add('contents', contentsSql.replace('e.contract_id', 'e.contract_id, e.template_fqn'));
    await user.fill();
    expect((await exportAll())['rewritten']).toBeGreaterThan(0);
    expect(manifestOf(lake.path).tables['derived.contents']?.columns.map(({ name }) => name)).toContain('template_fqn');
    await expectAllExported();
  });

  it('has the rows of the other history after a reset', async () => {
    await user.world.command(`reset --to ${String(Math.floor((await user.world.checkpoint()) * 0.8))} --yes`);
    await user.world.index('ledger', tokens);
    user.world.grow(20);
    await user.world.index('ledger', tokens);
    await user.fill();
    await exportAll();
    await expectAllExported();
  });

  it('has no rows while the indexer stores none', async () => {
    await user.fill('built-in');
    await exportAll();
    for (const name of names) expect(pathsOf(name).filter((path) => path !== null)).toEqual([]);
    await user.fill();
    await exportAll();
    await expectAllExported();
  });

  it('keeps the rows of pruned history, and begins later for a projection that is added afterwards', async () => {
    const before = { contents: pathsOf('contents'), own: pathsOf('own_contents') };
    const boundary = filesOf('contents')[0]?.to ?? 0;
    await prune(boundary);
    await exportAll();
    await user.fill();
    await user.add('later', transfersSql);
    await user.fill();
    expect(await exportAll()).toMatchObject({ incomplete: {} });
    expect({ contents: pathsOf('contents'), own: pathsOf('own_contents') }).toEqual(before);
    expect(manifestOf(lake.path).tables['derived.later']).toMatchObject({ from: boundary + 1 });
    const rows = await exportedRows('later', '"offset", amount');
    const expected = await query(
      user.url,
      `select "offset", amount from derived.later where "offset" > ${String(boundary)}`,
    );
    expect(rows).toEqual(expected.map((row) => JSON.stringify(Object.values(row).map(String))).toSorted());
  });

  it('is refused if rows of pruned history would have to change, until the projection is dropped', async () => {
    const id = await prunedContract();
    expect((await filesWithPayload(id)).length).toBeGreaterThan(0);
    await runCommand(
      redactCommand,
      ['contract', id, '--reason', 'r', '--exported', lake.path, '--yes'],
      user.world.env(),
    );
    const refused = exportAll();
    await expect(refused).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringMatching(
        / of derived\.contents must be rewritten because contents of pruned contracts were redacted/,
      ) as string,
      remedy: expect.stringContaining('ledger-indexer projection drop contents, export') as string,
    });
    for (const name of [...names, 'later']) await user.projection('drop', name);
    await exportAll();
    expect(await filesWithPayload(id)).toEqual([]);
    expect(filesIn(lake.path).filter((name) => /^derived\.contents\/.*parquet$/.test(name))).toEqual([]);
    await user.add('contents', contentsSql);
    await user.fill();
    expect(await exportAll()).toMatchObject({ incomplete: {} });
    expect(await filesWithPayload(id)).toEqual([]);
    expect(pathsOf('contents')[0]).toBeNull();
    expect((await exportedRows('contents', '"offset"')).length).toBeGreaterThan(10);
    expect(await exportAll()).toMatchObject({ files: 0 });
  });
});
