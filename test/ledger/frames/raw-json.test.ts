/** The scanner keeps texts as the ledger wrote them, including numbers and depths that JavaScript cannot represent. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RawJson, jsonTextOf, partText, scanFrame } from '../../../src/ledger/frames/raw-json.ts';
import { expectProperty } from '../../support/chance/property.ts';

function payload(frame: unknown): string | null {
  return jsonTextOf((frame as { createArgument: unknown }).createArgument);
}

/** The scanned value, with every payload parsed. */
function unwrapped(scanned: unknown): unknown {
  if (scanned instanceof RawJson) return JSON.parse(scanned.text);
  if (typeof scanned === 'bigint') return Number(scanned);
  if (Array.isArray(scanned)) return scanned.map(unwrapped);
  if (typeof scanned !== 'object' || scanned === null) return scanned;
  return Object.fromEntries(Object.entries(scanned).map(([key, inner]) => [key, unwrapped(inner)]));
}

describe('scanFrame()', () => {
  it('keeps the text of every object unchanged, with spaces, numbers and repeated keys', () => {
    const inner = String.raw`{ "n" : 1.10, "n" : 1e400,"\u0061":[ {"b":-0.0} ]}`;
    const scanned = scanFrame(`{"update":${inner} }`) as Record<string, unknown>;
    expect(partText(scanned['update'])).toBe(inner);
    expect(partText(scanned)).toBe(`{"update":${inner} }`);
    expect(partText(scanned['none'])).toBeUndefined();
  });

  it('finds a key that contains escape sequences', () => {
    expect(payload(scanFrame(String.raw`{"create\u0041rgument":5,"offset":1}`))).toBe('5');
  });

  it('returns the same values as JSON.parse for any document', () => {
    expectProperty(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(0, 2), (json, indent) => {
        const value: unknown = JSON.parse(json);
        const scanned = scanFrame(JSON.stringify(value, undefined, indent));
        expect(unwrapped(scanned)).toEqual(value);
      }),
      1_000,
    );
  });

  it('returns null payloads as null, and finds the end of strings with quotes and backslashes', () => {
    const frame = String.raw`{"createArgument": null ,"contractKey":{"a":"]}\\\"{","b":[]},"offset":3}`;
    const scanned = scanFrame(frame) as Record<string, unknown>;
    expect(scanned['createArgument']).toBeNull();
    expect(jsonTextOf(scanned['contractKey'])).toBe(String.raw`{"a":"]}\\\"{","b":[]}`);
    expect(scanned['offset']).toBe(3);
  });

  it('does not parse payloads, so the depth of a payload is unlimited', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(payload(scanFrame(`{"createArgument":${deep}}`))).toBe(deep);
    expect(partText(scanFrame(`{"unknown":${deep}}`))).toBe(`{"unknown":${deep}}`);
  });

  it('keeps __proto__ as an ordinary key and leaves Object.prototype unchanged', () => {
    const scanned = scanFrame('{"__proto__":{"polluted":true},"constructor":{"x":1.5}}');
    expect(Object.entries(scanned as object)).toEqual([
      ['__proto__', { polluted: true }],
      ['constructor', { x: 1.5 }],
    ]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
