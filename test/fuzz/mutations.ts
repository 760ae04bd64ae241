/**
 * Damages frames: truncated, flipped and repeated bytes, and JSON whose parts have other types, other names, or names
 * with a meaning in JavaScript. A recipe is plain data, so that fast-check can shrink it and a seed repeats it.
 */
import * as fc from 'fast-check';

/** Every text of a payload contains this marker. An error that contains it has leaked contents. */
export const canary = 'kanari-vogel';

type Bytes =
  | { readonly op: 'flip'; readonly at: number; readonly bit: number }
  | { readonly op: 'put'; readonly at: number; readonly byte: number }
  | { readonly op: 'cut' | 'end' | 'repeat'; readonly at: number; readonly length: number }
  | { readonly op: 'insert'; readonly at: number; readonly text: string };

type Structure =
  | { readonly op: 'replace'; readonly at: number; readonly by: unknown }
  | { readonly op: 'remove' | 'double'; readonly at: number }
  | { readonly op: 'rename' | 'add'; readonly at: number; readonly key: string; readonly by: unknown };

/** A frame and the changes to it: first changes of its structure, then of its bytes. */
export interface Recipe {
  readonly frame: number;
  readonly structure: readonly Structure[];
  readonly bytes: readonly Bytes[];
}

const positionValue = fc.nat({ max: 1_000_000 });

/** Names that have side effects if an object is copied carelessly. */
const keys = fc.constantFrom(
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'toJSON',
  'value',
  'offset',
  'events',
  'CreatedEvent',
  'ExercisedEvent',
  'JsUnassignedEvent',
  'update',
  'Transaction',
  'createArgument',
  canary,
  '',
  '\u0000',
  '\u202e',
);

const nestedJson = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const values = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER + 2,
    '',
    canary,
    `${canary}\u0000`,
    '\ud800',
    '\u202e\u2066',
    `${canary}:${canary}`,
    `${canary}:${canary}:${canary}`,
    '9223372036854775808',
    '2026-13-45T99:99:99Z',
    [],
    {},
    [[]],
    [null],
    { [canary]: canary },
  ),
  fc.constantFrom(`${canary} `.repeat(2_000)),
  fc.jsonValue({ maxDepth: 2 }),
);

const insertedText = fc.oneof(
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    ',',
    ':',
    'null',
    '-',
    '1e999',
    '123456789012345678901234567890',
    '\\u0000',
    '\\ud800',
    '"__proto__":{"polluted":1},',
    '{"__proto__":{"polluted":1}}',
    '\ufeff',
    ' '.repeat(500),
    nestedJson(3_000),
    '{"a":'.repeat(2_000),
  ),
  fc.string({ maxLength: 8 }),
);

const structure: fc.Arbitrary<Structure> = fc.oneof(
  fc.record({ op: fc.constant('replace' as const), at: positionValue, by: values }),
  fc.record({ op: fc.constantFrom('remove' as const, 'double' as const), at: positionValue }),
  fc.record({ op: fc.constantFrom('rename' as const, 'add' as const), at: positionValue, key: keys, by: values }),
);

const bytes: fc.Arbitrary<Bytes> = fc.oneof(
  fc.record({ op: fc.constant('flip' as const), at: positionValue, bit: fc.nat({ max: 7 }) }),
  fc.record({ op: fc.constant('put' as const), at: positionValue, byte: fc.nat({ max: 255 }) }),
  fc.record({
    op: fc.constantFrom('cut' as const, 'end' as const, 'repeat' as const),
    at: positionValue,
    length: fc.nat({ max: 200 }),
  }),
  fc.record({ op: fc.constant('insert' as const), at: positionValue, text: insertedText }),
);

/** Recipes for a number of frames. Half of them do not change the bytes, half do not change the structure. */
export function recipes(frames: number): fc.Arbitrary<Recipe> {
  const frame = fc.nat({ max: frames - 1 });
  return fc.oneof(
    fc.record({ frame, structure: fc.array(structure, { minLength: 1, maxLength: 3 }), bytes: fc.constant([]) }),
    fc.record({ frame, structure: fc.constant([]), bytes: fc.array(bytes, { minLength: 1, maxLength: 4 }) }),
    fc.record({
      frame,
      structure: fc.array(structure, { minLength: 1, maxLength: 2 }),
      bytes: fc.array(bytes, { minLength: 1, maxLength: 2 }),
    }),
  );
}

/** The frame with the damage of the recipe. */
export function damageText(text: string, recipe: Recipe): string {
  let mutatedText = text;
  if (recipe.structure.length > 0) {
    const root = { frame: JSON.parse(text) as unknown };
    for (const change of recipe.structure) restructure(root, change);
    mutatedText = JSON.stringify(root.frame ?? null);
  }
  if (recipe.bytes.length === 0) return mutatedText;
  let buffer = Buffer.from(mutatedText);
  for (const change of recipe.bytes) buffer = rewrite(buffer, change);
  return buffer.toString('utf8');
}

type Holder = Record<string, unknown>;

function restructure(root: Holder, change: Structure): void {
  const mutationTargets: { readonly holder: Holder; readonly key: string }[] = [];
  collect(root, mutationTargets);
  const location = mutationTargets[change.at % mutationTargets.length];
  if (location === undefined) return;
  const { holder, key } = location;
  const value = holder[key];
  if (change.op === 'replace') define(holder, key, structuredClone(change.by));
  else if (change.op === 'remove') delete holder[key];
  else if (change.op === 'double') define(holder, key, [value, value]);
  else if (change.op === 'rename') {
    delete holder[key];
    define(holder, change.key, value);
  } else if (change.op === 'add' && typeof value === 'object' && value !== null) {
    define(value as Holder, change.key, structuredClone(change.by));
  }
}

/** Defines an own property, whatever its name is. */
function define(holder: Holder, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function collect(holder: Holder, mutationTargets: { readonly holder: Holder; readonly key: string }[]): void {
  for (const key of Object.keys(holder)) {
    mutationTargets.push({ holder, key });
    const value = holder[key];
    if (typeof value === 'object' && value !== null) collect(value as Holder, mutationTargets);
  }
}

function rewrite(buffer: Buffer, change: Bytes): Buffer<ArrayBuffer> {
  const copy = Buffer.from(buffer);
  if (copy.length === 0) return copy;
  const position = change.at % copy.length;
  switch (change.op) {
    case 'flip':
      copy[position] = (copy[position] ?? 0) ^ (1 << change.bit);
      return copy;
    case 'put':
      copy[position] = change.byte;
      return copy;
    case 'cut':
      return Buffer.concat([copy.subarray(0, position), copy.subarray(position + change.length)]);
    case 'end':
      return Buffer.from(copy.subarray(0, position));
    case 'repeat':
      return Buffer.concat([copy.subarray(0, position + change.length), copy.subarray(position)]);
    case 'insert':
    default:
      return Buffer.concat([copy.subarray(0, position), Buffer.from(change.text), copy.subarray(position)]);
  }
}
