/** Frames whose numbers or depth JavaScript cannot hold come out as the ledger wrote them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutPayloads } from '../../src/ledger/payload-cut.ts';
import { jsonTextOf, scanFrame, serialise } from '../../src/ledger/raw-json.ts';

function payload(frame: unknown): string | null {
  return jsonTextOf((frame as { createArgument: unknown }).createArgument);
}

/** The payload under `createArgument` as the fast reader finds it. */
function cut(frame: string): string | undefined {
  const { value, payloads } = cutPayloads(frame) ?? { value: undefined, payloads: [] };
  return payloads[(value as { createArgument: number } | undefined)?.createArgument ?? -1];
}

describe.each([
  ['cutPayloads', cut],
  ['scanFrame', (frame: string) => payload(scanFrame(frame))],
])('%s', (_, read) => {
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
    'true',
    '""',
    String.raw`"a\\"`,
    String.raw`{"a":"]}\\\"{","createArgument":{"b":[]}}`,
    String.raw`{"exerciseResult":"\"createArgument\":1"}`,
  ])('keeps %s digit by digit', (value) => {
    expect(read(`{"offset":1,"createArgument":${value}}`)).toBe(value);
    expect(read(`{ "offset" : 1 , "createArgument" : ${value} }`)).toBe(value);
    expect(read(`{"createArgument":${value},"commandId":"\\"createArgument\\":7"}`)).toBe(value);
  });
});

describe('cutPayloads', () => {
  it('leaves the structure around the payloads, whatever is in them', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.json({ maxDepth: 4 }), fc.string(), (one, two, id) => {
        const frame = `{"commandId":${JSON.stringify(id)},"e":[{"choiceArgument":${one}},{"contractKey":${two},"n":3}]}`;
        const found = cutPayloads(frame);
        // A structure with escapes is left to the scanner.
        if (JSON.stringify(id).includes(String.raw`\u`)) {
          expect(found).toBeUndefined();
        } else {
          expect(found?.value).toEqual({ commandId: id, e: [{ choiceArgument: 0 }, { contractKey: 1, n: 3 }] });
          expect(found?.payloads).toEqual([one, two].map((json) => json.trim()));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('leaves a key that is spelled with escapes to the scanner, which reads it', () => {
    const frame = String.raw`{"create\u0041rgument":5,"offset":1}`;
    expect(cutPayloads(frame)).toBeUndefined();
    expect(payload(scanFrame(frame))).toBe('5');
  });

  it.each([
    '{"a":1.5',
    '{"createArgument":{"a":1}',
    '{"createArgument":',
    '{"createArgument":"x',
    '{"createArgument":[1}',
  ])('refuses %s, which is not JSON', (text) => {
    expect(() => cutPayloads(text)).toThrow(SyntaxError);
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
