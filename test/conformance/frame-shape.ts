/** Compares two messages by their form: keys, their order, and types. Contents of Daml values do not count. */

/** Daml values: their keys are those of a template, not of the interface. */
const payloads = new Set([
  'createArgument',
  'contractKey',
  'choiceArgument',
  'exerciseResult',
  'viewValue',
  'valueDecoded',
]);

export interface ShapeOptions {
  /** False: the keys of the recording were sorted when it was saved. */
  readonly ordered?: boolean;
  /** Paths whose keys need not agree. */
  readonly except?: readonly string[];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The variant of an element of a list: the first capitalized one of nested only keys, '' when it is not a sum type. */
function variantOf(value: unknown): string {
  if (typeOf(value) !== 'object') return '';
  const [only, ...more] = Object.keys(value as object);
  if (only === undefined || more.length > 0) return '';
  return /^[A-Z]/u.test(only) ? only : variantOf((value as Record<string, unknown>)[only]);
}

/** How `found` differs in form from `wanted`; both directions, null and empty lists agreeing with everything. */
export function shapeProblems(
  expected: unknown,
  found: unknown,
  options: ShapeOptions = {},
  path = '$',
): readonly string[] {
  if (options.except?.includes(path) === true || expected === null || found === null) return [];
  const [left, right] = [typeOf(expected), typeOf(found)];
  if (left !== right) return [`${path}: expected ${left}, found ${right}`];
  if (Array.isArray(expected) && Array.isArray(found)) return listProblems(expected, found, options, path);
  if (left !== 'object') return [];
  return objectProblems(expected as Record<string, unknown>, found as Record<string, unknown>, options, path);
}

/** Every element is compared with the first one of its variant. */
function listProblems(
  expected: readonly unknown[],
  found: readonly unknown[],
  options: ShapeOptions,
  path: string,
): readonly string[] {
  return found.flatMap((element) => {
    const like = expected.find((one) => variantOf(one) === variantOf(element));
    return like === undefined ? [] : shapeProblems(like, element, options, `${path}[]`);
  });
}

function objectProblems(
  expected: Readonly<Record<string, unknown>>,
  found: Readonly<Record<string, unknown>>,
  options: ShapeOptions,
  path: string,
): readonly string[] {
  const order = (keys: readonly string[]): string => (options.ordered === false ? keys.toSorted() : keys).join();
  const [left, right] = [order(Object.keys(expected)), order(Object.keys(found))];
  if (left !== right) return [`${path}: expected the keys ${left}, found ${right}`];
  return Object.keys(expected)
    .filter((key) => !payloads.has(key))
    .flatMap((key) => shapeProblems(expected[key], found[key], options, `${path}.${key}`));
}

/** The kinds of updates, events and entries in a message, for which a comparison needs a counterpart. */
export function kindsIn(message: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (typeOf(value) !== 'object') return;
    for (const [key, member] of Object.entries(value as object)) {
      if (payloads.has(key)) continue;
      if (/^[A-Z]/u.test(key)) found.add(key);
      walk(member);
    }
  };
  walk(message);
  return found;
}
