/**
 * Changes every stored column without the indexer, and runs `verify`. `verify` must detect exactly the changes that
 * docs/reference/verify-columns.md lists as detected. The test fails if a column is missing on that page.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toIndexerError } from '../../src/errors/indexer-error.ts';
import { query } from '../support/database.ts';
import { partlyDetected, detectedColumns, undetectedColumns, type ColumnGroup } from './columns-doc.ts';
import { validChanges, plantedSql, rowsOf } from './column-plants.ts';
import { columnsWorld, type ColumnsWorld } from './columns-world.ts';
import { runVerify } from './verify-run.ts';

let world: ColumnsWorld;
let types: ReadonlyMap<string, string>;

beforeAll(async () => {
  world = await columnsWorld();
  types = await catalog();
  // The checkpoint may be later than the last update if the ledger has no other update.
  world.sandbox.ledger.skipOffsets(5);
}, 120_000);
afterAll(async () => {
  await world.close();
});

/** Column types of all tables, by `table.column`. */
async function catalog(): Promise<ReadonlyMap<string, string>> {
  const rows = await query(
    world.database.url,
    `select c.relname || '.' || a.attname as name, t.typname as type
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       join pg_type t on t.oid = a.atttypid
      where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p')`,
  );
  return new Map(rows.map(({ name, type }) => [String(name), String(type)]));
}

const allChecks = ['I01', '--acs', '--tail'];

/** Checks that found a difference, by their names in the document; empty if all are equal. */
async function findingKindsFrom(checks: readonly string[]): Promise<readonly string[]> {
  const names = checks.includes('refused') ? allChecks : checks;
  const args = [
    ...(names.some((name) => name.startsWith('I')) ? ['--invariants'] : []),
    ...(names.includes('--acs') ? ['--acs'] : []),
    ...(names.includes('--tail') ? ['--tail', '100000'] : []),
  ];
  try {
    const { results } = await runVerify(args, world.env);
    const isRefused = results.some(({ outcome }) => outcome === 'undecided') ? ['refused'] : [];
    const findingKinds = results.flatMap(({ kind, outcome, findings }) => {
      if (outcome !== 'different') return [];
      return kind === 'invariants' ? findings.map(({ rule = '' }) => rule.slice(0, 3)) : [`--${kind}`];
    });
    return [...new Set([...isRefused, ...findingKinds])];
  } catch (error) {
    return [`refused`, toIndexerError(error).code];
  }
}

interface Change {
  readonly rows: string;
  readonly columns: readonly string[];
  /** SQL of a value other than the default one. */
  readonly value?: string | undefined;
  readonly by?: readonly string[];
}

/** Changes the columns, and returns the checks that detect a difference. Restores the rows. */
async function findingsWhileChanged({
  rows,
  columns,
  value,
  by: checks = allChecks,
}: Change): Promise<readonly string[]> {
  const { table, setUp: setupSql } = rowsOf(rows);
  const changedTables = [...new Set([table, ...(setupSql === undefined ? [] : ['stream', 'coverage'])])];
  const keepSql = changedTables.map((name) => `create table kept.${name} as table ${name}`);
  await world.change(['create schema kept', ...keepSql].join(';'));
  try {
    if (setupSql !== undefined) await world.change(setupSql);
    const changes = columns.map((column) => plantedSql(rows, column, types.get(`${table}.${column}`) ?? '', value));
    try {
      await world.change(changes.join(';'));
    } catch (error) {
      // The database rejects the change, because it violates a check constraint.
      if (Reflect.get(error as object, 'code') === '23514') return ['refused'];
      throw error;
    }
    return await findingKindsFrom(checks);
  } finally {
    const restoreSql = changedTables.map((name) => `truncate ${name}; insert into ${name} select * from kept.${name}`);
    await world.change(['set local client_min_messages = error', ...restoreSql, 'drop schema kept cascade'].join(';'));
  }
}

const groupEntries = (groups: readonly ColumnGroup[]) =>
  groups.flatMap(({ rows, columns, by: checks }) => columns.map((column) => [rows, column, checks] as const));

it('verify reports no difference if no column is changed', async () => {
  expect(await findingKindsFrom(allChecks)).toEqual([]);
});

it('docs/reference/verify-columns.md lists each column once per kind of rows', () => {
  const listedColumns = [
    ...groupEntries(detectedColumns),
    ...groupEntries(partlyDetected),
    ...groupEntries(undetectedColumns),
  ].map(([rows, column]) => `${rows}.${column}`);
  const kinds = [...new Set(listedColumns.map((name) => name.split('.')[0] ?? ''))];
  const expected = kinds.flatMap((rows) => {
    const { table } = rowsOf(rows);
    return [...types.keys()].flatMap((name) => (name.startsWith(`${table}.`) ? [`${rows}.${name.split('.')[1]}`] : []));
  });
  expect([...listedColumns].sort()).toEqual([...expected].sort());
  const tables = [...types.keys()].map((name) => name.split('.')[0]);
  expect(new Set(tables)).toEqual(new Set(kinds.map((rows) => rowsOf(rows).table)));
});

describe('verify after a detectable change', () => {
  it.each([...groupEntries(detectedColumns), ...groupEntries(partlyDetected)])(
    'reports a difference in rows "%s", column %s',
    async (rows, column, by) => {
      const found = await findingsWhileChanged({ rows, columns: [column], by });
      expect(
        found.filter((name) => by.includes(name)),
        `found by: ${found.join(', ')}`,
      ).not.toEqual([]);
    },
  );
});

describe('verify after an undetectable change', () => {
  it('reports no difference for reordered parties of a create in flight', async () => {
    const value = `jsonb_set(created_event, '{witnessParties}', (
      select jsonb_agg(p order by place desc) from jsonb_array_elements(created_event -> 'witnessParties') with ordinality l (p, place)))`;
    expect(
      await findingsWhileChanged({ rows: 'reassignments in flight at a seed', columns: ['created_event'], value }),
    ).toEqual([]);
  });

  // All columns are changed at once. If no check detects this, no check detects a change of a single column either.
  it.each(undetectedColumns)('reports no difference in rows "$rows", columns $columns', async ({ rows, columns }) => {
    expect(await findingsWhileChanged({ rows, columns })).toEqual([]);
  });

  it.each(groupEntries(partlyDetected))(
    'reports no difference in rows "%s", column %s, if the value is valid',
    async (rows, column) => {
      const value = validChanges[`${rows}.${column}`];
      expect(value).toBeDefined();
      expect(await findingsWhileChanged({ rows, columns: [column], value })).toEqual([]);
    },
  );
});
