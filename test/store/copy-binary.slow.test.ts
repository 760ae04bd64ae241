/** Rows are written to a real Postgres in binary form. Each type is read as written and equals its text form. */
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lifetimeClass } from '../../src/model/lifetimes.ts';
import { tables, type Row, type TableName } from '../../src/model/tables.ts';
import { BinaryTables } from '../../src/store/write/copy-binary.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { runInOneRoundTrip } from '../../src/store/connection/round-trip.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { expectProperty } from '../support/chance/property.ts';

let testDatabase: TestDatabase;
let client: Client;
const binary = new BinaryTables();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  const database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  await database.close();
  client = new Client({ connectionString: testDatabase.url });
  await client.connect();
  await client.query('set search_path to ledger');
});
afterAll(async () => {
  await client.end();
  await testDatabase.drop();
});

function encodeRows(table: TableName, rows: readonly Row[]): Buffer {
  binary.clear();
  for (const row of rows) binary.push(table, row);
  const messages = [...binary.filled()][0]?.messages;
  if (messages === undefined) throw new Error('no rows');
  return messages;
}

async function copy(table: TableName, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(tables[table])
    .map((name) => `"${name}"`)
    .join(', ');
  const messages = encodeRows(table, rows);
  const text = `copy ${table} (${columns}) from stdin (format binary)`;
  expect(await runInOneRoundTrip(client, [{ name: `copy ${table}`, text, copy: messages }])).toEqual([rows.length]);
}

const texts = fc.string({ unit: 'grapheme', maxLength: 60 }).filter((text) => !text.includes('\0'));
const json = fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => JSON.stringify(value).replaceAll('\\u0000', ''));
const hexDigits = Array.from({ length: 16 }, (_, digit) => digit.toString(16));
const int8 = fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));

describe('binary COPY', () => {
  it('uses the column types of the migrated tables', async () => {
    const { rows } = await client.query<{ table: TableName; column: string; type: string }>(
      `select table_name as table, column_name as column, udt_name as type
         from information_schema.columns where table_schema = 'ledger'`,
    );
    const types = new Map(
      rows.map(({ table, column, type }) => [`${table}.${column}`, type.replace(/^_(.*)/, '$1[]')]),
    );
    for (const [table, columns] of Object.entries(tables)) {
      for (const [column, type] of Object.entries(columns)) {
        const storedType = ['id', 'base64', 'trace'].includes(type) ? 'bytea' : type;
        expect(types.get(`${table}.${column}`), `${table}.${column}`).toBe(storedType);
      }
    }
  });

  it('stores texts, JSON, lists and numbers unchanged', async () => {
    let offset = 0;
    const row = fc.tuple(texts, json, fc.array(texts, { maxLength: 4 }), int8, fc.boolean());
    await expectProperty(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (values) => {
        await client.query('truncate contracts, contract_parties');
        const lists: Row[] = [];
        const rows = values.map(([text, payload, list, counter, flag]): Row => {
          offset += 1;
          const timestamp = '2026-08-14T10:51:04.3Z';
          lists.push([offset, list, [], list]);
          return [offset, timestamp, counter, -1, 2, 1, offset, 'c', flag, `id ${offset}`, payload, null, null, null, text, null, null]; // prettier-ignore
        });
        await copy('contracts', rows);
        await copy('contract_parties', lists);
        const { rows: copiedRows } = await client.query<Record<string, unknown>>(
          `select representative_package_id as text, payload = any(array[]::jsonb[]) as none, payload::text as payload,
                  signatories as list, reassignment_counter::text as counter, acs_delta as flag, node_id, observers
             from contracts join contract_parties using (parties_pk) order by "offset"`,
        );
        for (const [index, [text, payload, list, counter, flag]] of values.entries()) {
          const copiedRow = copiedRows[index];
          expect(copiedRow).toMatchObject({ text, list, counter: String(counter), flag, node_id: -1, observers: [] });
          expect(JSON.parse(String(copiedRow?.['payload']))).toEqual(JSON.parse(payload));
        }
      }),
      40,
    );
  });

  it('stores ids, base64 and trace parents unchanged, in any form', async () => {
    const hex = (length: fc.StringConstraints): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...hexDigits), ...length });
    const digits = hex({ maxLength: 140 });
    const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).filter((text) => !/[\0\\]/.test(text));
    const id = fc.oneof(digits, ascii, digits.map((text) => `ff${text}`), digits.map((text) => text.toUpperCase())); // prettier-ignore
    const base64 = fc.oneof(texts, fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString('base64'))); // prettier-ignore
    const trace = fc.oneof(texts, fc.tuple(...[2, 32, 16, 2].map((length) => hex({ minLength: length, maxLength: length }))).map((hexParts) => hexParts.join('-'))); // prettier-ignore
    await expectProperty(
      fc.asyncProperty(fc.array(fc.tuple(id, base64, trace), { minLength: 1, maxLength: 20 }), async (values) => {
        await client.query('truncate contracts, updates');
        await copy('contracts', values.map(([contract, hash], index): Row => [index, null, null, 0, 1, 1, 1, 'c', null, contract, null, null, hash, hash, null, null, null])); // prettier-ignore
        await copy('updates', values.map(([update, , parent], index): Row => [index, 0, null, null, null, 0, 1, 't', update, parent, null, null, null, update, update, null])); // prettier-ignore
        const { rows } = await client.query(
          `select array[c.contract_id, c.contract_key_hash, c.created_event_blob] as contract,
                  array[u.update_id, u.external_transaction_hash, u.transaction_hash, u.trace_parent] as update
             from decoded_contracts c join decoded_updates u using ("offset") order by "offset"`,
        );
        const expected = values.map(([text, hash, parent]) => ({ contract: [text, hash, hash], update: [text, text, text, parent] })); // prettier-ignore
        expect(rows).toEqual(expected);
      }),
      60,
    );
  });

  it('computes the same lifetime class as lifetime_class() in Postgres', async () => {
    const lengths = Array.from({ length: 53 }, (_, power) => 2 ** power).flatMap((size) => [size - 1, size, size + 1]);
    const validLengths = [...new Set(lengths)].filter((length) => length >= 1 && length <= 2 ** 52);
    const { rows } = await client.query<{ class: number }>(
      'select lifetime_class(5, 5 + length - 1) as class from unnest($1::bigint[]) length',
      [validLengths],
    );
    expect(rows.map((row) => row.class)).toEqual(validLengths.map((length) => lifetimeClass(5, 5 + length - 1)));
  });

  it('stores the same times as Postgres reads from text', async () => {
    const times = ['1970-01-01T00:01:00Z', '2026-08-14T10:51:04.3Z', '2026-08-14T10:51:04.319123Z', '9999-12-31T23:59:59.999999Z']; // prettier-ignore
    await client.query('truncate updates');
    await copy(
      'updates',
      times.map((time, index) => [index + 1, 0, time, time, null, 0, 1, 't', null, null, null, null, null, null, null, null]), // prettier-ignore
    );
    const { rows } = await client.query<{ same: boolean }>(
      'select array_agg(effective_at order by "offset") = $1::timestamptz[] as same from updates',
      [times],
    );
    expect(rows[0]?.same).toBe(true);
  });

  it('stores rows larger than its buffer, and later rows', async () => {
    await client.query('truncate exercises');
    const largeJson = JSON.stringify('x'.repeat(5_000_000));
    const row = (offset: number, argument: string): Row => [offset, 0, null, 1, 1, 1, true, null, 'c', argument, null, null]; // prettier-ignore
    await copy('exercises', [
      row(1, '{}'),
      row(2, largeJson),
      row(3, largeJson),
      row(4, largeJson),
      row(5, largeJson),
      row(6, '[1]'),
    ]);
    await copy('exercises', [row(7, '{"a":1}')]);
    const { rows } = await client.query<{ sizes: number[] }>(
      'select array_agg(length(argument::text) order by "offset") as sizes from exercises',
    );
    expect(rows[0]?.sizes).toEqual([2, 5_000_002, 5_000_002, 5_000_002, 5_000_002, 3, 8]);
  });

  it('rejects invalid values with an error that contains only the table', () => {
    const row = (nodeId: number): Row => [1, nodeId, 1, 1, 'c'];
    expect(() => encodeRows('archives', [row(2 ** 31)])).toThrow(/archives.*32 bits/);
    expect(() => encodeRows('archives', [row(Number.NaN)])).toThrow(/32 bits/);
    const cost: Row = [1, 0, null, null, 2n ** 63n, 0, 1, 't', null, null, null, null, null, null, null, null]; // prettier-ignore
    expect(() => encodeRows('updates', [cost])).toThrow(/updates.*64 bits/);
    const update: Row = [1, 0, 'secret words', null, null, 0, 1, 't', null, null, null, null, null, null, null, null]; // prettier-ignore
    expect(() => encodeRows('updates', [update])).toThrow(/updates.*a time/);
    expect(() => encodeRows('updates', [update])).not.toThrow(/secret/);
    for (const id of ['é', 'a\\b', '\ud800', 'a\nb']) {
      expect(() => encodeRows('archives', [[1, 1, 1, 1, id]]), id).toThrow(/archives.*an id with a backslash/);
    }
  });
});
