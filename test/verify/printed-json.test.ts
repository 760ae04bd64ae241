/** The program prints JSON with exactly the text that Postgres prints for jsonb. */
import { array, bigInt, constantFrom, letrec, oneof, sample, string, tuple, type Arbitrary } from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { printJsonText, printJsonValue } from '../../src/model/printed-json.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function printWithPostgres(texts: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ printed: string }>(
    `select value::jsonb::text as printed from unnest($1::text[]) with ordinality u (value, place) order by place`,
    [texts],
  );
  return rows.map(({ printed: printedJson }) => printedJson);
}

/** Strings that jsonb can store, and keys of all kinds. */
const jsonTexts = oneof(
  string({ unit: 'binary' }),
  string({ unit: 'grapheme' }),
  constantFrom('a', 'bb', 'é', '😀', 'z', '', '\u007f'),
).map((text) => text.replaceAll('\u0000', '').toWellFormed());
const numbers = tuple(
  constantFrom('', '-'),
  bigInt({ min: 0n, max: 10n ** 30n }),
  string({ unit: constantFrom('0', '1', '9'), maxLength: 12 }),
  constantFrom('', 'e0', 'e5', 'E+12', 'e-7', 'e-20', 'E3'),
).map(
  ([sign, integerPart, fraction, exponent]) =>
    `${sign}${String(integerPart)}${fraction === '' ? '' : `.${fraction}`}${exponent}`,
);
const json: Arbitrary<string> = letrec<{ value: string }>((tieRule) => ({
  value: oneof(
    { maxDepth: 5, withCrossShrink: true },
    numbers,
    constantFrom('true', 'false', 'null', '0', '-0', '-0.00', '1e0', '1.50', '0.0e3'),
    jsonTexts.map((word) => JSON.stringify(word)),
    array(tieRule('value'), { maxLength: 4 }).map((values) => `[ ${values.join(' ,\n')}]`),
    array(tuple(jsonTexts, tieRule('value')), { maxLength: 6 }).map(
      (entries) => `{${entries.map(([key, value]) => `${JSON.stringify(key)} : ${value}`).join(', ')}}`,
    ),
  ),
})).value;

describe('printed JSON', () => {
  it('equals the text that Postgres prints for jsonb', async () => {
    const texts = sample(json, { numRuns: 3_000, seed: 11 });
    expect(texts.map((text) => printJsonText(text))).toEqual(await printWithPostgres(texts));
  });

  it('is the same when printed from the parsed value, unless it contains a number', async () => {
    const texts = sample(json, { numRuns: 3_000, seed: 12 });
    const directlyPrinted = texts.flatMap((text) => {
      const printedJson = printJsonValue(JSON.parse(text));
      return printedJson === undefined ? [] : [[text, printedJson] as const];
    });
    expect(directlyPrinted.length).toBeGreaterThan(1_000);
    expect(directlyPrinted.map(([, printedJson]) => printedJson)).toEqual(
      await printWithPostgres(directlyPrinted.map(([text]) => text)),
    );
    for (const text of [
      '1',
      '{"a":[{"b":1e0}]}',
      '"\\u0000"',
      '["\\ud800"]',
      '{"$escaped":"x"}',
      '['.repeat(501) + ']'.repeat(501),
    ]) {
      expect(printJsonValue(JSON.parse(text))).toBeUndefined();
    }
  });

  it('is the unchanged text if jsonb cannot store the value', () => {
    for (const text of [
      '"\\u0000"',
      '["\\ud800"]',
      '{"a\\u0000":1}',
      '{"$escaped":"x"}',
      '{ "\\u0024escaped" : 1}',
      '['.repeat(501) + ']'.repeat(501),
    ]) {
      expect(printJsonText(text)).toBe(`raw:${text}`);
    }
  });
});
