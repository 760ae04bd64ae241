/**
 * Compares the form of two messages: their keys, the order of the keys, and the types. Daml values are not compared.
 */

/** Fields with Daml values, whose keys belong to a template and not to the interface. */
const payloads = new Set([
  'createArgument',
  'contractKey',
  'choiceArgument',
  'exerciseResult',
  'viewValue',
  'valueDecoded',
]);

export interface ShapeOptions {
  /** False if the keys of the recording were sorted when it was saved. */
  readonly ordered?: boolean;
  /** Paths whose keys are not compared. */
  readonly except?: readonly string[];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The variant of a list element: the first capitalized key in a chain of single keys; '' if it is not a sum type. */
function variantOf(value: unknown): string {
  if (typeOf(value) !== 'object') return '';
  const [only, ...more] = Object.keys(value as object);
  if (only === undefined || more.length > 0) return '';
  return /^[A-Z]/u.test(only) ? only : variantOf((value as Record<string, unknown>)[only]);
}

/** Differences in form between `expected` and `found`, in both directions. Null and empty lists match everything. */
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

/** Compares every element with the first expected element of the same variant. */
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

/** The kinds of updates, events and entries in a message, each of which needs a counterpart for the comparison. */
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
