/**
 * Redacts contents whose rows were already pruned from Postgres. Afterwards no exported file contains them, and all
 * other data is unchanged.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import type { PackageModel } from '../../src/daml/package-model.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { iou } from '../read/reader-attempts.ts';
import * as frames from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { duck, exportTo, filesIn, lakeDir, manifestOf, type LakeDir } from './lake-world.ts';
import { secretExercise } from '../retention/traces.ts';
import { startHistory, create, exportInRanges, filesWith } from './small-history.ts';

const schemas = schemasOfFile();
const stop = new AbortController().signal;
const transfer = {
  name: 'Transfer',
  consuming: true,
  argument: { kind: 'named', name: `${iou.packageId}:Main.Iou:Transfer`, arguments: [] },
  result: { kind: 'builtin', name: 'text' },
} as const;
const model: PackageModel = {
  ...iou,
  templates: iou.templates.map((template) => ({ ...template, choices: [transfer] })),
  dataTypes: {
    ...iou.dataTypes,
    'Main.Iou:Transfer': {
      kind: 'record',
      parameters: [],
      fields: [{ name: 'secret', type: { kind: 'builtin', name: 'text' } }],
    },
  },
};

const end = (offset: number, id: string): frames.JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: secretExercise(id, { offset, interfaceId: null }) }]);
const history = [
  create(1, '00c1'),
  create(2, '00c2'),
  end(3, '00c1'),
  create(4, '00c4'),
  end(5, '00c2'),
  create(6, '00c6'),
  create(7, '00c7'),
  end(8, '00c7'),
  create(9, '00c9'),
];

let database: Database;
let dir: LakeDir;
beforeAll(async () => {
  database = await startHistory(schemas, 'ledger', history);
  await storePackage(database, model);
  expect((await syncTypedViews(database, [model])).failed).toEqual([]);
  dir = lakeDir();
  await exportTo(dir.path, schemas.url, 'ledger', '--until', '3', '--views', 'typed.*');
  await exportInRanges(dir.path, schemas.url, 'ledger', 9);
  // Of the first six updates, only the rows of the active contracts 00c4 and 00c6 remain.
  await prune(database, { offset: 6 }, { stop });
});
afterAll(() => dir[Symbol.dispose]());

async function redact(...argv: readonly string[]): Promise<Record<string, unknown>> {
  const lines: string[] = [];
  const env = { DATABASE_URL: schemas.url, POSTGRES_SCHEMA: 'ledger' };
  await runCommand(redactCommand, [...argv, '--reason', 'r', '--json'], env, { print: (line) => lines.push(line) });
  return JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
}
const redactInLake = (...argv: readonly string[]): Promise<Record<string, unknown>> =>
  redact(...argv, '--exported', dir.path, '--yes');

const exported = (): Promise<Record<string, unknown>> => exportTo(dir.path, schemas.url, 'ledger');
const contentColumns = new Set([
  'payload',
  'contract_key',
  'argument',
  'result',
  'view',
  'status_message',
  'status_details',
]);

/** Number of rows and hash of the exported data other than contents, by table. */
async function readKeptColumns(): Promise<Record<string, unknown>> {
  const { tables, files } = manifestOf(dir.path);
  const tableContents: Record<string, unknown> = {};
  for (const [table, { columns }] of Object.entries(tables)) {
    const paths = files.flatMap((file) =>
      file.table === table && file.path !== null ? [`'${dir.path}/${file.path}'`] : [],
    );
    const keptColumns = columns.filter(
      ({ name }) => !contentColumns.has(name) && !['redaction_id', 'secret'].includes(name),
    );
    const row = keptColumns.map(({ name }) => `"${name}"::varchar`).join(', ');
    const [sums] = await duck(
      `select count(*)::int as rows, md5(string_agg(md5(concat_ws('|', ${row})), '' order by ${row})) as md5
         from read_parquet([${paths.join(', ')}])`,
    );
    tableContents[table] = sums;
  }
  return tableContents;
}

/** File paths of a table according to the Delta log, and according to the manifest. */
function loggedAndNamedPaths(table: string): readonly [readonly string[], readonly string[]] {
  const loggedPaths = new Set<string>();
  for (const name of filesIn(dir.path).filter((path) => path.startsWith(`${table}/_delta_log/`))) {
    for (const line of readFileSync(join(dir.path, name), 'utf8').split('\n').filter(Boolean)) {
      const { add, remove } = JSON.parse(line) as { add?: { path: string }; remove?: { path: string } };
      if (remove !== undefined) loggedPaths.delete(remove.path);
      if (add !== undefined) loggedPaths.add(add.path);
    }
  }
  const erasedPaths = manifestOf(dir.path).files.flatMap((file) =>
    file.table === table && file.path !== null ? [file.path] : [],
  );
  return [[...loggedPaths].map((path) => `${table}/${path}`).sort(), erasedPaths.sort()];
}

it('redact --exported redacts a contract that exists only in the export', async () => {
  const restBefore = await readKeptColumns();
  await expect(redact('contract', '00c1', '--yes')).rejects.toMatchObject({
    code: 'REDACTION_REFUSED',
    remedy: expect.stringContaining('--exported') as string,
  });
  await expect(redactInLake('contract', '00cf')).rejects.toMatchObject({ code: 'REDACTION_REFUSED' });
  expect(await redact('contract', '00c1', '--exported', dir.path)).toMatchObject({ dryRun: true, onlyInLake: 1 });
  expect(await exported()).toMatchObject({ files: 0 });

  const redactionResult = await redactInLake('contract', '00c1');
  expect(redactionResult).toMatchObject({ contracts: 0, onlyInLake: 1, finished: true });
  await exported();
  const leakingFiles = await filesWith(dir.path, 'SECRET-00c1');
  expect(leakingFiles.map((name) => name.split('/')[0])).toEqual(['exercises', 'typed.iou__iou__transfer']);
  const [row] = await duck(
    `select redaction_id from read_parquet('${dir.path}/contracts/*.parquet') where contract_id = '00c1'`,
  );
  expect(row).toEqual({ redaction_id: redactionResult['redactionId'] });

  // With exercises, the first call finds more contents to redact. The second call finds none.
  expect(await redactInLake('contract', '00c1', '--with-exercises')).toMatchObject({ onlyInLake: 1 });
  expect((await redactInLake('contract', '00c1', '--with-exercises'))['redactionId']).toBeUndefined();
  expect(await exported()).toMatchObject({ rewritten: 2 });
  expect(await filesWith(dir.path, 'SECRET-00c1')).toEqual([]);
  expect((await filesWith(dir.path, 'SECRET-00c2')).length).toBeGreaterThan(4);
  expect(await readKeptColumns()).toEqual(restBefore);
  for (const table of Object.keys(manifestOf(dir.path).tables)) {
    const [loggedPaths, manifestPaths] = loggedAndNamedPaths(table);
    expect(loggedPaths, table).toEqual(manifestPaths);
    expect(filesIn(dir.path).filter((name) => name.startsWith(`${table}/`) && name.endsWith('.parquet'))).toEqual(
      manifestPaths,
    );
  }
  expect(await exported()).toMatchObject({ files: 0 });
});

it('redact --exported redacts an exercise without its contract', async () => {
  const [exercise] = await duck(
    `select "offset" || ':' || node_id as at from read_parquet('${dir.path}/exercises/*.parquet') where contract_id = '00c2'`,
  );
  const offset = String(exercise?.['at']);
  expect(await redactInLake('exercise', offset)).toMatchObject({ exercises: 0, onlyInLake: 1 });
  expect((await redactInLake('exercise', offset))['redactionId']).toBeUndefined();
  await expect(redactInLake('exercise', '3:77')).rejects.toMatchObject({ code: 'REDACTION_REFUSED' });
  await exported();
  const leakingFiles = await filesWith(dir.path, 'SECRET-00c2');
  expect(leakingFiles.map((name) => name.split('/')[0])).toEqual(['contracts', 'interface_views', 'typed.iou__iou']);
});

it('export redacts an active contract in a file whose other rows are pruned', async () => {
  await redact('contract', '00c4', '--include-active', '--yes');
  await exported();
  expect(await filesWith(dir.path, 'SECRET-00c4')).toEqual([]);
  expect((await filesWith(dir.path, 'SECRET-00c6')).length).toBeGreaterThan(2);
  expect(await exported()).toMatchObject({ files: 0 });
});

it('redact party --exported redacts contracts in Postgres and in the export', async () => {
  expect(await redact('party', frames.alice, '--include-active', '--with-exercises')).toMatchObject({ onlyInLake: 0 });
  const redactionResult = await redactInLake('party', frames.alice, '--include-active', '--with-exercises');
  expect(redactionResult).toMatchObject({ onlyInLake: 1, finished: true });
  await exported();
  expect(await filesWith(dir.path, 'SECRET-')).toEqual([]);
  expect(await exported()).toMatchObject({ files: 0 });
});
