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
  const [singleKey, ...extraKeys] = Object.keys(value as object);
  if (singleKey === undefined || extraKeys.length > 0) return '';
  return /^[A-Z]/u.test(singleKey) ? singleKey : variantOf((value as Record<string, unknown>)[singleKey]);
}

/** Differences in form between `expected` and `found`, in both directions. Null and empty lists match everything. */
export function shapeProblems(
  expected: unknown,
  actual: unknown,
  options: ShapeOptions = {},
  path = '$',
): readonly string[] {
  if (options.except?.includes(path) === true || expected === null || actual === null) return [];
  const [left, right] = [typeOf(expected), typeOf(actual)];
  if (left !== right) return [`${path}: expected ${left}, found ${right}`];
  if (Array.isArray(expected) && Array.isArray(actual)) return listProblems(expected, actual, options, path);
  if (left !== 'object') return [];
  return objectProblems(expected as Record<string, unknown>, actual as Record<string, unknown>, options, path);
}

/** Compares every element with the first expected element of the same variant. */
function listProblems(
  expected: readonly unknown[],
  actual: readonly unknown[],
  options: ShapeOptions,
  path: string,
): readonly string[] {
  return actual.flatMap((element) => {
    const sameVariant = expected.find((candidate) => variantOf(candidate) === variantOf(element));
    return sameVariant === undefined ? [] : shapeProblems(sameVariant, element, options, `${path}[]`);
  });
}

function objectProblems(
  expected: Readonly<Record<string, unknown>>,
  actual: Readonly<Record<string, unknown>>,
  options: ShapeOptions,
  path: string,
): readonly string[] {
  const order = (keys: readonly string[]): string => (options.ordered === false ? keys.toSorted() : keys).join();
  const [left, right] = [order(Object.keys(expected)), order(Object.keys(actual))];
  if (left !== right) return [`${path}: expected the keys ${left}, found ${right}`];
  return Object.keys(expected)
    .filter((key) => !payloads.has(key))
    .flatMap((key) => shapeProblems(expected[key], actual[key], options, `${path}.${key}`));
}

/** The kinds of updates, events and entries in a message, each of which needs a counterpart for the comparison. */
export function kindsIn(message: unknown): ReadonlySet<string> {
  const fieldPaths = new Set<string>();
  const visitNode = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visitNode);
    if (typeOf(value) !== 'object') return;
    for (const [key, member] of Object.entries(value as object)) {
      if (payloads.has(key)) continue;
      if (/^[A-Z]/u.test(key)) fieldPaths.add(key);
      visitNode(member);
    }
  };
  visitNode(message);
  return fieldPaths;
}
