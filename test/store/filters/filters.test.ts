/** Filters select exactly the rows that a second evaluation in JavaScript selects, and never become text of SQL. */
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { compileFilter } from '../../../src/store/filters/compile.ts';
import type { FilterFields } from '../../../src/store/filters/fields.ts';
import { filterLimits } from '../../../src/store/filters/filter.ts';
import { parseFilter } from '../../../src/store/filters/parse.ts';
import { expectProperty, seedFor } from '../../support/chance/property.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { documentPackage, documentType, filterArb, rowArb, type Row } from './filter-model.ts';

const fields: FilterFields = {
  columns: { name: 'text', place: 'integer', amount: 'number', at: 'time', is_open: 'boolean', parties: 'texts' },
  documents: { payload: [documentType] },
  packages: (id) => (id === documentPackage.packageId ? documentPackage : undefined),
};
/** The type of the documents is not known, as before a package was read. */
const untyped: FilterFields = { ...fields, documents: { payload: [{ kind: 'builtin', name: 'any' }] } };

let testDatabase: TestDatabase;
let client: Client;
let rows: readonly Row[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  client = new Client({ connectionString: testDatabase.url });
  await client.connect();
  await client.query(`set plan_cache_mode = force_custom_plan`);
  await client.query(
    `create table rows (number int, name text, place bigint, amount numeric, at timestamptz, is_open boolean,
       parties text[], payload jsonb)`,
  );
  rows = fc.sample(rowArb, { seed: seedFor(), numRuns: 150 });
  for (const [number, { name, place, amount, at, is_open: isOpen, parties, payload }] of rows.entries()) {
    const values = [number, name, place, amount, at, isOpen, parties, JSON.stringify(payload)];
    await client.query('insert into rows values ($1, $2, $3, $4, $5, $6, $7, $8)', values);
  }
});

afterAll(async () => {
  await client.end();
  await testDatabase.drop();
});

async function selected(text: string, known = fields): Promise<readonly number[]> {
  const condition = compileFilter(parseFilter(text), known, { alias: 'r', parametersBefore: 1 });
  const { rows: found } = await client.query<{ number: number }>(
    `select r.number from rows r where r.number >= $1 and ${condition.text} order by 1`,
    [0, ...condition.values],
  );
  return found.map(({ number }) => number);
}

function problemOf(text: string): IndexerError {
  try {
    compileFilter(parseFilter(text), fields, { alias: 'r', parametersBefore: 0 });
  } catch (thrown) {
    if (thrown instanceof IndexerError) return thrown;
    throw thrown;
  }
  throw new Error(`the filter is accepted: ${text}`);
}

describe('filters', () => {
  it('select the rows of a second evaluation', async () => {
    await expectProperty(
      fc.asyncProperty(filterArb, async ({ text, matches }) => {
        const expected = rows.flatMap((row, number) => (matches(row) ? [number] : []));
        expect(await selected(text), text).toEqual(expected);
      }),
      400,
    );
  });

  it('compare decimals by value, not as text', async () => {
    const expected = rows.flatMap(({ payload }, number) => (Number(payload['amount']) > 9.5 ? [number] : []));
    expect(expected.length).toBeGreaterThan(0);
    expect(await selected('payload.amount > 9.50')).toEqual(expected);
    expect(await selected('payload.amount > 9.50', untyped)).toEqual(expected);
  });

  it('compare fields of an unknown type as the kind of the value, without an error for other values', async () => {
    const named = rows.flatMap(({ payload }, number) => (payload['owner'] === "it's" ? [number] : []));
    expect(await selected(`payload.owner = 'it''s'`, untyped)).toEqual(named);
    const tens = rows.flatMap(({ payload }, number) => (payload['owner'] === '10' ? [number] : []));
    expect(await selected('payload.owner >= 10', untyped)).toEqual(tens);
    expect(await selected('payload.no.such.field = true', untyped)).toEqual([]);
    const open = rows.flatMap(({ payload }, number) => (payload['open'] === true ? [number] : []));
    expect(await selected('payload.open = true', untyped)).toEqual(open);
  });

  it('have neither their texts nor their paths in the statement', () => {
    const hostile = `'); drop table rows; --`;
    const text = `payload.notes."${hostile}" = '${hostile.replaceAll("'", "''")}' and name in ('${hostile.replaceAll("'", "''")}')`;
    const condition = compileFilter(parseFilter(text), fields, { alias: 'r', parametersBefore: 0 });
    expect(condition.text).not.toContain('drop');
    expect(condition.values).toEqual([['notes', hostile], hostile, [hostile]]);
  });

  it.each([
    ['payload.ownr = 1', /unknown field: payload\.ownr/, 'payload.owner'],
    ['payload.inner.labels is null', /unknown field: payload\.inner\.labels/, 'payload.inner.label'],
    ['nam = 1', /unknown field: nam,/, 'name'],
    ['name.x = 1', /unknown field: name\.x/, ''],
    ['__proto__ = 1', /unknown field: __proto__/, ''],
    ['payload.constructor = 1', /unknown field: payload\.constructor/, ''],
    ['payload.color.x = 1', /unknown field: payload\.color\.x/, ''],
  ])('report the nearest names of an unknown field: %s', (text, message, nearest) => {
    const problem = problemOf(text);
    expect(problem.code).toBe('FIELD_UNKNOWN');
    expect(problem.message).toMatch(message);
    expect(problem.remedy).toContain(nearest);
  });

  it.each([
    ['', 'expected the name of a field, but the filter ends'],
    ['name', 'expected a comparison, in, has or is, but the filter ends'],
    ['name =', 'or a text in single quotes'],
    ["name = 'a", 'no closing quote'],
    ['name = "a"', 'or a text in single quotes'],
    ["name = 'a' or", 'expected the name of a field'],
    ["name = 'a' name = 'b'", 'expected and, or, or the end'],
    ["(name = 'a'", 'expected ")"'],
    ["name in ('a', 1)", 'is compared with a text in single quotes'],
    ['name in ()', 'or a text in single quotes'],
    ["name = 'a'; drop table rows", '";" is not part of the language'],
    ["lower(name) = 'a'", 'expected a comparison'],
    ["name = 'a' -- comment", 'is not part of the language'],
    ["name like 'a%'", 'expected a comparison'],
    ['name is 1', 'expected null'],
    ['name = 1', 'field name is compared with a text in single quotes'],
    ['name = true', 'field name is compared with a text in single quotes'],
    ["amount > 'abc'", 'field amount is compared with a number'],
    [`amount > ${'9'.repeat(39)}`, 'at most 38 digits'],
    ['place = 1.5', 'field place is compared with an integer'],
    ['place = 9223372036854775808', 'field place is compared with an integer'],
    ["at > 'yesterday'", 'field at is compared with a time in UTC'],
    ["at > '2025-02-29T00:00:00Z'", 'field at is compared with a time in UTC'],
    ["payload.day = '2025-02-29'", 'field payload.day is compared with a date'],
    ['is_open > true', 'compare it with = or !='],
    ["parties = 'a'", "write has 'abc'"],
    ["name has 'a'", 'is not a list of texts'],
    ['parties has 1', 'is compared with a text'],
    ["payload = 'a'", 'name a field of it'],
    ["payload.inner = 'a'", 'name a field of it'],
    ["name = 'a\0'", 'U+0000'],
  ])('are refused: %j', (text, message) => {
    const problem = problemOf(text);
    expect(problem.code).toBe('FILTER_INVALID');
    expect(problem.message).toContain(message);
  });

  it('are limited in length, depth, conditions, values and steps', () => {
    const { characters, conditions, depth, values, steps } = filterLimits;
    const accepted = [
      `name = '${'a'.repeat(characters - 9)}'`,
      Array.from({ length: conditions }, () => 'place=1').join(' or '),
      `${'('.repeat(depth)}place=1${')'.repeat(depth)}`,
      `place in (${Array.from({ length: values }, () => '1').join(',')})`,
    ];
    for (const text of accepted) expect(() => parseFilter(text)).not.toThrow();
    const refused = [
      `name = '${'a'.repeat(characters - 8)}'`,
      Array.from({ length: conditions + 1 }, () => 'place=1').join(' or '),
      `${'('.repeat(depth + 1)}place=1${')'.repeat(depth + 1)}`,
      `${'not '.repeat(depth + 1)}place=1`,
      `place in (${Array.from({ length: values + 1 }, () => '1').join(',')})`,
      `${Array.from({ length: steps + 1 }, () => 'a').join('.')} = 1`,
    ];
    for (const text of refused) expect(() => parseFilter(text), text).toThrow(/the filter cannot be used/);
  });

  it('use an index of `index create` on a field of the payload', async () => {
    await client.query(
      `create index on rows using spgist ((payload ->> 'owner')) where (payload ->> 'owner') is not null`,
    );
    const condition = compileFilter(parseFilter(`payload.owner = 'abc'`), fields, { alias: 'r', parametersBefore: 0 });
    await client.query('set enable_seqscan = off');
    const { rows: plan } = await client.query<{ 'QUERY PLAN': string }>(
      `explain select 1 from rows r where ${condition.text}`,
      [...condition.values],
    );
    await client.query('reset enable_seqscan');
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index.* Scan .*rows_/);
  });
});
