/** Odd values for the requests of hostile clients. */

/** Values that are wrong for most fields, including names of properties that objects inherit. */
export const oddities: readonly unknown[] = [
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
  yield* oddities;
  if (typeof value !== 'object' || value === null) return;
  const entries = Object.entries(value);
  for (const [at, [, part]] of entries.entries()) {
    for (const odd of mutations(part)) {
      const changed = entries.map(([key, old], index): [string, unknown] => [key, index === at ? odd : old]);
      yield Array.isArray(value) ? changed.map(([, element]) => element) : Object.fromEntries(changed);
    }
    const rest = entries.filter((_, index) => index !== at);
    yield Array.isArray(value) ? rest.map(([, element]) => element) : Object.fromEntries(rest);
    if (Array.isArray(value)) continue;
    for (const key of ['__proto__', 'constructor', 'toString']) yield Object.fromEntries([...rest, [key, part]]);
  }
}
