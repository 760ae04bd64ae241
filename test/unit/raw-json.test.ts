/** Frames whose numbers or depth JavaScript cannot hold come out as the ledger wrote them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonTextOf, parseFrame, RawJson, scanFrame, serialise } from '../../src/ledger/raw-json.ts';

function payload(frame: unknown): string | null {
  return jsonTextOf((frame as { createArgument: unknown }).createArgument);
}

describe('parseFrame', () => {
  it.each([
    '9007199254740993',
    '-9223372036854775808',
    '1.10',
    '-0.0000000001',
    '1e400',
    '12345678901234567890123456789.0123456789',
    '[1,9007199254740993]',
    '{"a" : 1.50}',
    '{ "b" :\n[ 2.0 , 3 ] }',
  ])('keeps %s digit by digit', (number) => {
    expect(payload(parseFrame(`{"offset":1,"createArgument":${number}}`))).toBe(number);
    expect(payload(parseFrame(`{ "offset" : 1 , "createArgument" : ${number} }`))).toBe(number);
  });

  it('takes the fast road where nothing can be lost', () => {
    const frame = parseFrame('{"createArgument":{"amount":"1.50","n":12}}');
    expect((frame as Record<string, unknown>)['createArgument']).not.toBeInstanceOf(RawJson);
    expect(payload(frame)).toBe('{"amount":"1.50","n":12}');
  });

  it('gives whole numbers beyond 2^53 outside payloads as bigint', () => {
    expect(parseFrame('{"paidTrafficCost":9007199254740993}')).toEqual({ paidTrafficCost: 9_007_199_254_740_993n });
  });

  it('refuses what is not JSON', () => {
    expect(() => parseFrame('{"a":1.5')).toThrow(SyntaxError);
  });
});

describe('scanFrame', () => {
  it('agrees with JSON.parse on every document', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(0, 2), (json, indent) => {
        const value: unknown = JSON.parse(json);
        const scanned = scanFrame(JSON.stringify(value, undefined, indent));
        expect(JSON.parse(serialise(scanned))).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives null payloads as null and finds the end of strings with quotes and backslashes', () => {
    const frame = String.raw`{"createArgument": null ,"contractKey":{"a":"]}\\\"{","b":[]},"offset":3}`;
    const scanned = scanFrame(frame) as Record<string, unknown>;
    expect(scanned['createArgument']).toBeNull();
    expect(jsonTextOf(scanned['contractKey'])).toBe(String.raw`{"a":"]}\\\"{","b":[]}`);
    expect(scanned['offset']).toBe(3);
  });

  it('follows no payload into depth, so that no depth is too deep', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(payload(scanFrame(`{"createArgument":${deep}}`))).toBe(deep);
    expect(serialise(scanFrame(`{"unknown":${deep}}`))).toBe(`{"unknown":${deep}}`);
  });

  it('keeps __proto__ as an ordinary key and leaves Object.prototype alone', () => {
    const scanned = scanFrame('{"__proto__":{"polluted":true},"constructor":{"x":1.5}}');
    expect(serialise(scanned)).toBe('{"__proto__":{"polluted":true},"constructor":{"x":1.5}}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
