/**
 * Shortens an answer to a number of bytes. First the last rows of the longest list are removed. If the only row of a list
 * is still too large, its largest values are removed. The data has null instead, and the sentence names each one.
 */
import type { JsonObject } from '../indexer/indexer-client.ts';
import { visibleJson, type Fitted } from './result.ts';

/** Lists of rows are at most this deep in an answer. */
const maxDepth = 4;
/** Values that are named in the sentence, at most. */
const maxNamed = 20;

interface RowList {
  readonly path: string;
  /** The list in the shortened answer, which is changed. */
  readonly rows: unknown[];
  /** Size of each row, bytes. */
  readonly sizes: number[];
  readonly found: number;
}

/** @param most bytes of the data as JSON */
export function fit(data: JsonObject, most: number): Fitted {
  const excess = sizeOf(data) - most;
  if (excess <= 0) return { data };
  const shortened = structuredClone(data) as Record<string, unknown>;
  const lists = rowLists(shortened, '', maxDepth);
  const left = removeRows(lists, excess);
  const omitted = left > 0 ? omitValues(shortened, left) : [];
  const sentences = [
    ...lists.filter(({ rows, found }) => rows.length < found).map(truncatedList),
    ...(omitted.length === 0 ? [] : [`Too large, and null here: ${omitted.slice(0, maxNamed).join(', ')}.`]),
    'Request fewer columns or rows, or use a narrower condition.',
  ];
  return { data: shortened, truncated: sentences.join(' ') };
}

function truncatedList({ path, rows, found }: RowList): string {
  return `${path} has the first ${String(rows.length)} of ${String(found)} rows.`;
}

/** Size in the text of a result, in which hidden characters are longer. */
function sizeOf(value: unknown): number {
  return Buffer.byteLength(visibleJson(value));
}

function rowLists(value: unknown, path: string, depth: number): RowList[] {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (name !== 'rows' || !Array.isArray(field)) return rowLists(field, fieldPath, depth - 1);
    return [{ path: fieldPath, rows: field as unknown[], sizes: field.map(sizeOf), found: field.length }];
  });
}

/** Removes rows from the end of the largest list, one after the other. @returns the remaining excess, bytes */
function removeRows(lists: readonly RowList[], excess: number): number {
  const totals = new Map(lists.map((list) => [list, list.sizes.reduce((sum, size) => sum + size + 1, 0)]));
  let left = excess;
  while (left > 0) {
    const [largest] = lists
      .filter(({ rows }) => rows.length > 1)
      .sort((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0));
    if (largest === undefined) return left;
    largest.rows.pop();
    const size = (largest.sizes.pop() ?? 0) + 1;
    totals.set(largest, (totals.get(largest) ?? 0) - size);
    left -= size;
  }
  return left;
}

interface Value {
  readonly path: string;
  readonly size: number;
  readonly remove: () => void;
}

/** Replaces the largest values of the answer and of its rows by null. @returns their paths and sizes */
function omitValues(data: Record<string, unknown>, excess: number): readonly string[] {
  const values = valuesOf(data, '', maxDepth + 2).sort((a, b) => b.size - a.size);
  const omitted: string[] = [];
  let left = excess;
  for (const { path, size, remove } of values) {
    if (left <= 0) break;
    remove();
    omitted.push(`${path} (${String(size)} bytes)`);
    left -= size - 'null'.length;
  }
  return omitted;
}

/** Values that are neither lists of rows nor objects that contain them: columns of rows, and other fields. */
function valuesOf(value: object, path: string, depth: number): Value[] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const fieldPath = Array.isArray(value) ? `${path}[${name}]` : `${path}${path === '' ? '' : '.'}${name}`;
    const holdsRows =
      typeof field === 'object' &&
      field !== null &&
      (name === 'rows' || path.endsWith('rows') || rowLists(field, '', depth).length > 0);
    if (holdsRows && depth > 0) return valuesOf(field, fieldPath, depth - 1);
    return [{ path: fieldPath, size: sizeOf(field), remove: () => Object.assign(value, { [name]: null }) }];
  });
}
