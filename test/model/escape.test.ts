/** Values that Postgres cannot store are escaped reversibly. All other values are unchanged. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnText, jsonbText } from '../../src/model/escape.ts';
import { expectProperty } from '../support/chance/property.ts';

function unescaped(json: string): string {
  const value = JSON.parse(json) as { $escaped?: unknown };
  return typeof value.$escaped === 'string' ? value.$escaped : json;
}

/** Returns whether jsonb rejects the value, judged by its decoded strings. */
function refused(json: string): boolean {
  let bad = false;
  JSON.parse(json, (key, value: unknown) => {
    for (const part of [key, value])
      if (typeof part === 'string' && (part.includes('\u0000') || !part.isWellFormed())) bad = true;
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
    expect(unescaped(jsonbText(json))).toBe(json);
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
    const deep = `${'[{"a":'.repeat(251)}1${'}]'.repeat(251)}`;
    expect(unescaped(jsonbText(deep))).toBe(deep);
    const flat = JSON.stringify('[{"'.repeat(2_000));
    expect(jsonbText(flat)).toBe(flat);
  });

  it('escapes a payload in the form of an escaped payload', () => {
    const spelled = [
      String.raw`{"\u0024escaped":"x"}`,
      String.raw`{"$\u0065scaped":"x"}`,
      String.raw`{"\u0024\u0065\u0073\u0063\u0061\u0070\u0065\u0064":"x"}`,
    ];
    for (const alike of ['{"$escaped":"x"}', '{ "$escaped" : "x"}', ...spelled]) {
      expect(jsonbText(alike)).not.toBe(alike);
      expect(unescaped(jsonbText(alike))).toBe(alike);
      expect(jsonbText(alike)).not.toBe(alike);
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
      fc.property(fc.array(units, { maxLength: 8 }), (parts) => {
        const json = JSON.stringify({ text: parts.join('') });
        expect(jsonbText(json) !== json).toBe(refused(json));
        expect(unescaped(jsonbText(json))).toBe(json);
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
          const stored = columnText(text);
          expect(stored.includes('\u0000') || !stored.isWellFormed()).toBe(false);
          expect(stored.startsWith('json:"') ? JSON.parse(stored.slice(5)) : stored).toBe(text);
        },
      ),
      2_000,
    );
  });
});
