/** Values that Postgres cannot store are escaped reversibly. All other values are unchanged. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnText, jsonbText } from '../../src/model/escape.ts';
import { expectProperty } from '../support/chance/property.ts';

function unescapeJson(json: string): string {
  const value = JSON.parse(json) as { $escaped?: unknown };
  return typeof value.$escaped === 'string' ? value.$escaped : json;
}

/** Returns whether jsonb rejects the value, judged by its decoded strings. */
function isRefused(json: string): boolean {
  let bad = false;
  JSON.parse(json, (key, value: unknown) => {
    for (const operand of [key, value])
      if (typeof operand === 'string' && (operand.includes('\u0000') || !operand.isWellFormed())) bad = true;
    return value;
  });
  return bad;
}

describe('jsonbText()', () => {
  it.each([
    String.raw`"\u0000"`,
    String.raw`"\ud800"`,
    String.raw`"\uDC00x"`,
    String.raw`"\ud83d\ud83d\ude00"`,
    String.raw`"\ud83d\ude00\ude00"`,
    String.raw`"\\ud83d\ude00"`,
    String.raw`"\ud83d\\ude00"`,
    String.raw`"\ud83d-\ude00"`,
    String.raw`"\ud83d\n\ude00"`,
    String.raw`{"\u0000":1}`,
  ])('escapes %s reversibly', (json) => {
    expect(jsonbText(json)).not.toBe(json);
    expect(unescapeJson(jsonbText(json))).toBe(json);
  });

  it.each([
    '{"a":"b"}',
    String.raw`"\ud83d\ude00"`,
    String.raw`"\uD83D\uDE00 \uD83D\uDE00"`,
    String.raw`"\\u0000"`,
    String.raw`"\\ud800"`,
    '"😀"',
    `${'['.repeat(500)}${']'.repeat(500)}`,
  ])('leaves %s unchanged', (json) => {
    expect(jsonbText(json)).toBe(json);
  });

  it('escapes JSON that is nested deeper than 500, and does not count brackets in strings', () => {
    const deepJson = `${'[{"a":'.repeat(251)}1${'}]'.repeat(251)}`;
    expect(unescapeJson(jsonbText(deepJson))).toBe(deepJson);
    const flatJson = JSON.stringify('[{"'.repeat(2_000));
    expect(jsonbText(flatJson)).toBe(flatJson);
  });

  it('escapes a payload in the form of an escaped payload', () => {
    const escapedSpellings = [
      String.raw`{"\u0024escaped":"x"}`,
      String.raw`{"$\u0065scaped":"x"}`,
      String.raw`{"\u0024\u0065\u0073\u0063\u0061\u0070\u0065\u0064":"x"}`,
    ];
    for (const escapedLookalike of ['{"$escaped":"x"}', '{ "$escaped" : "x"}', ...escapedSpellings]) {
      expect(jsonbText(escapedLookalike)).not.toBe(escapedLookalike);
      expect(unescapeJson(jsonbText(escapedLookalike))).toBe(escapedLookalike);
      expect(jsonbText(escapedLookalike)).not.toBe(escapedLookalike);
    }
  });

  it('escapes exactly the texts that jsonb rejects', () => {
    const units = fc.constantFrom(
      '\\',
      'u',
      'd',
      '8',
      '\u0000',
      '\ud83d',
      '\ude00',
      'ud83d',
      'ude00',
      'u0000',
      '"',
      'a',
    );
    expectProperty(
      fc.property(fc.array(units, { maxLength: 8 }), (textParts) => {
        const json = JSON.stringify({ text: textParts.join('') });
        expect(jsonbText(json) !== json).toBe(isRefused(json));
        expect(unescapeJson(jsonbText(json))).toBe(json);
      }),
      5_000,
    );
  });
});

describe('columnText()', () => {
  it('escapes only NUL, lone surrogates and its own prefix, reversibly', () => {
    expectProperty(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a\u0000b', '\ud800', 'json:"x"', 'json:')),
        (text) => {
          const storedText = columnText(text);
          expect(storedText.includes('\u0000') || !storedText.isWellFormed()).toBe(false);
          expect(storedText.startsWith('json:"') ? JSON.parse(storedText.slice(5)) : storedText).toBe(text);
        },
      ),
      2_000,
    );
  });
});
