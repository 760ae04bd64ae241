/** Odd values for the requests of hostile clients. */

/** Values that are wrong for most fields, including names of properties that objects inherit. */
export const oddValues: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  '\u0000',
  '\ud800',
  'constructor',
  '__proto__',
  'x'.repeat(300),
  [],
  [null],
  [[]],
  ['__proto__', 'constructor', 'toString'],
  {},
  { value: null },
  { constructor: { value: {} } },
  JSON.parse('{"__proto__":{"value":{"party":"x"}}}'),
];

/** Copies of a value. In each copy, one part (or the value itself) is replaced or omitted. */
export function* mutations(value: unknown): Generator {
  yield* oddValues;
  if (typeof value !== 'object' || value === null) return;
  const entries = Object.entries(value);
  for (const [rowIndex, [, bodyValue]] of entries.entries()) {
    for (const mutatedValue of mutations(bodyValue)) {
      const changedEntries = entries.map(([key, old], index): [string, unknown] => [
        key,
        index === rowIndex ? mutatedValue : old,
      ]);
      yield Array.isArray(value) ? changedEntries.map(([, element]) => element) : Object.fromEntries(changedEntries);
    }
    const otherEntries = entries.filter((_, index) => index !== rowIndex);
    yield Array.isArray(value) ? otherEntries.map(([, element]) => element) : Object.fromEntries(otherEntries);
    if (Array.isArray(value)) continue;
    for (const key of ['__proto__', 'constructor', 'toString'])
      yield Object.fromEntries([...otherEntries, [key, bodyValue]]);
  }
}
