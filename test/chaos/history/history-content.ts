/** Payloads of contracts: ordinary values, and values that databases and parsers are known to change or reject. */
import { RawJson, jsonText, type Json } from './json-text.ts';
import type { SeededRandom } from './random.ts';

/** A text of random length. Most texts are short, and a few are long. */
function randomLengthText(random: SeededRandom): string {
  const length = Math.min(40_000, Math.floor(4 / Math.max(0.0004, random.next() ** 1.5)));
  // Hexadecimal digits compress badly, so a long value may be too large for an index entry.
  return random.hex(length);
}

const nestedJson = (depth: number): RawJson => new RawJson(`${'{"in":'.repeat(depth)}"core"${'}'.repeat(depth)}`);

/** Unusual values, by name, so that a failure can report which value it was. */
const oddFields: Readonly<Record<string, (random: SeededRandom) => Json>> = {
  nul: () => `before\u0000after`,
  'nul next to other keys': () => ({ text: '\u0000', other: 'readable' }),
  'lone surrogate': () => 'half \ud800 a pair',
  'surrogates the wrong way round': () => '\udc00\ud800',
  'backslash u0000': () => String.raw`\u0000`,
  'key __proto__': () => new RawJson('{"__proto__":{"polluted":"yes"},"constructor":"x","toString":"y"}'),
  'duplicate keys': () => new RawJson('{"a":"first","a":"second"}'),
  'number forms': () => new RawJson('[1e0,-0,1.10,100000000000000000000000]'),
  'int64 as text': () => '9223372036854775807',
  'numeric with 38 digits': (random) => `${String(random.between(1, 9))}${'7'.repeat(27)}.9900000000`,
  'deep nesting': () => nestedJson(90),
  'deeper nesting than a server holds': () => nestedJson(700),
  'looks like an escaped value': () => new RawJson('{"$escaped":"not by us"}'),
  'long random text': (random) => random.hex(9_000),
  'controls and quotes': () => '\b\f\n\r\t"\\/\u0001\u001f\u007f\u2028\u2029',
  'right to left and emoji': () => 'שלום \u202e مرحبا 👩‍👩‍👧‍👦 ﷽',
  'microsecond time': () => '2026-01-05T08:00:00.123457Z',
  'nested optionals': () => [[], [[]], [['x']], null],
  'empty things': () => ({ text: '', list: [], map: {} }),
};

const oddNames = Object.keys(oddFields);

/** A create argument as JSON text, sometimes with an unusual value. */
export function payload(random: SeededRandom, noteText: string): RawJson {
  const fields: Record<string, Json> = {
    owner: `${noteText}::1220ab`,
    amount: `${String(random.between(0, 1_000_000))}.${String(random.between(0, 9)).repeat(10)}`,
    memo: randomLengthText(random),
  };
  if (random.chance(0.3)) {
    const name = random.pick(oddNames);
    const make = oddFields[name];
    if (make !== undefined) fields[name] = make(random);
  }
  return new RawJson(jsonText(fields));
}

/** Parties, some with names that must never become part of a statement. */
export const parties: readonly string[] = [
  'alice::1220aa',
  'bob::1220bb',
  `o'brien"; drop table updates; --::1220cc`,
  'שלום::1220dd',
  `${'long-'.repeat(50)}::1220ee`,
  '{curly,"brace"}::1220ff',
];
