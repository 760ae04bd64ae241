/** The scanner keeps texts as the ledger wrote them, including numbers and depths that JavaScript cannot represent. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RawJson, jsonTextOf, sourceTextOf, scanFrame } from '../../../src/ledger/frames/raw-json.ts';
import { expectProperty } from '../../support/chance/property.ts';

function payload(frame: unknown): string | null {
  return jsonTextOf((frame as { createArgument: unknown }).createArgument);
}

/** The scanned value, with every payload parsed. */
function unwrapped(scannedFrame: unknown): unknown {
  if (scannedFrame instanceof RawJson) return JSON.parse(scannedFrame.text);
  if (typeof scannedFrame === 'bigint') return Number(scannedFrame);
  if (Array.isArray(scannedFrame)) return scannedFrame.map(unwrapped);
  if (typeof scannedFrame !== 'object' || scannedFrame === null) return scannedFrame;
  return Object.fromEntries(Object.entries(scannedFrame).map(([key, nestedValue]) => [key, unwrapped(nestedValue)]));
}

describe('scanFrame()', () => {
  it('keeps the text of every object unchanged, with spaces, numbers and repeated keys', () => {
    const nestedJson = String.raw`{ "n" : 1.10, "n" : 1e400,"\u0061":[ {"b":-0.0} ]}`;
    const scannedFrame = scanFrame(`{"update":${nestedJson} }`) as Record<string, unknown>;
    expect(sourceTextOf(scannedFrame['update'])).toBe(nestedJson);
    expect(sourceTextOf(scannedFrame)).toBe(`{"update":${nestedJson} }`);
    expect(sourceTextOf(scannedFrame['none'])).toBeUndefined();
  });

  it('finds a key that contains escape sequences', () => {
    expect(payload(scanFrame(String.raw`{"create\u0041rgument":5,"offset":1}`))).toBe('5');
  });

  it('returns the same values as JSON.parse for any document', () => {
    expectProperty(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(0, 2), (json, indent) => {
        const value: unknown = JSON.parse(json);
        const scannedFrame = scanFrame(JSON.stringify(value, undefined, indent));
        expect(unwrapped(scannedFrame)).toEqual(value);
      }),
      1_000,
    );
  });

  it('returns null payloads as null, and finds the end of strings with quotes and backslashes', () => {
    const frame = String.raw`{"createArgument": null ,"contractKey":{"a":"]}\\\"{","b":[]},"offset":3}`;
    const scannedFrame = scanFrame(frame) as Record<string, unknown>;
    expect(scannedFrame['createArgument']).toBeNull();
    expect(jsonTextOf(scannedFrame['contractKey'])).toBe(String.raw`{"a":"]}\\\"{","b":[]}`);
    expect(scannedFrame['offset']).toBe(3);
  });

  it('does not parse payloads, so the depth of a payload is unlimited', () => {
    const deepJson = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(payload(scanFrame(`{"createArgument":${deepJson}}`))).toBe(deepJson);
    expect(sourceTextOf(scanFrame(`{"unknown":${deepJson}}`))).toBe(`{"unknown":${deepJson}}`);
  });

  it('keeps __proto__ as an ordinary key and leaves Object.prototype unchanged', () => {
    const scannedFrame = scanFrame('{"__proto__":{"polluted":true},"constructor":{"x":1.5}}');
    expect(Object.entries(scannedFrame as object)).toEqual([
      ['__proto__', { polluted: true }],
      ['constructor', { x: 1.5 }],
    ]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
