/**
 * The statement of a page of rows. Pages are found by the key of the last row of the previous page, so a page costs the
 * same wherever it is, and a row that is added or removed meanwhile shifts no other row.
 */
import type { ApiArguments, ApiColumnKind, ApiKey } from '../../model/push/read-api.ts';
import { compileFilter, compileOrder } from '../filters/compile.ts';
import type { ColumnKind, FilterFields } from '../filters/fields.ts';
import type { FieldPath } from '../filters/filter.ts';
import { parseField, parseFilter } from '../filters/parse.ts';
import type { Columns, RowsRoute } from './route.ts';
import type { Statement } from './statement.ts';

/** Maximum characters of the rows of one answer, unless its first row alone is longer. */
const maxCharacters = 4_000_000;

/** Statement with the columns line (JSON of the row) and key, in order. It returns one row more than the page has. */
export function rowsStatement(
  route: RowsRoute,
  { args, after, limit, documents }: RowsRequest,
  statement: Statement,
): string {
  const { columns } = route;
  const fields = { columns: filterColumns(columns), ...documents };
  const from = route.from(args, statement);
  const conditions = route.parameters.flatMap(({ name, condition }) => {
    const value = args[name];
    return condition === undefined || value === undefined ? [] : [condition(value, statement)];
  });
  const { where } = args;
  if (typeof where === 'string') {
    conditions.push(statement.append(compileFilter(parseFilter(where), fields, placeIn(statement))));
  }
  const order = orderOf(route, args['sort'], fields, statement);
  if (after !== undefined) conditions.push(afterKey(order, after, statement));
  const [direction, sorted] = [
    order.isDescending ? 'desc' : 'asc',
    order.values.map((_value, index) => `s${String(index)}`),
  ];
  const by = (names: readonly string[]): string => names.map((name) => `${name} ${direction} nulls last`).join(', ');
  const page = `select ${selectList(columns)}, ${order.values.map(({ sql }, index) => `${sql} as s${String(index)}`).join(', ')}
    from ${from} r${conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`}
   order by ${by(sorted)} limit ${statement.value(limit + 1, 'bigint')}`;
  const names = Object.keys(columns).map((name) => `p."${name}"`);
  return `with page as materialized (${page}),
    lines as (
      select row_number() over (order by ${by(sorted)}) as place, array[${sorted.map((name) => `${name}::text`).join(', ')}] as key,
             (select row_to_json(j)::text from (select ${names.join(', ')}) j) as line
        from page p),
    sized as (
      select l.*, sum(length(l.line)) over (order by l.place) - length(l.line) as before from lines l)
    select line, key, place::int as place, (select count(*) from lines)::int as found
      from sized where place = 1 or before + length(line) <= ${statement.value(maxCharacters, 'bigint')} order by place`;
}

export interface RowsRequest {
  readonly args: ApiArguments;
  readonly after: ApiKey | undefined;
  readonly limit: number;
  readonly documents: Omit<FilterFields, 'columns'>;
}

/** A value of the order, and the type to which texts of a cursor are cast. */
interface OrderValue {
  readonly sql: string;
  readonly type: string;
  /** Whether the value may be null; key columns are not. */
  readonly isOptional: boolean;
}

interface Order {
  readonly values: readonly OrderValue[];
  readonly isDescending: boolean;
}

const columnTypes: Readonly<Record<ApiColumnKind, string>> = {
  text: 'text',
  integer: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  time: 'timestamptz',
  texts: 'text[]',
  numbers: 'text[]',
  json: 'jsonb',
};

/** The order of the request, then the key of the route, so that the order is total. */
function orderOf(
  { key, columns, isDescending = false, optionalKey = [] }: RowsRoute,
  sort: unknown,
  fields: FilterFields,
  statement: Statement,
): Order {
  const keyValues = key.map((column): OrderValue => {
    const kind = columns[column] ?? 'text';
    // Row comparisons with a null would lose rows.
    const isNullable = kind === 'text' || optionalKey.includes(column);
    const value = isNullable ? `coalesce(r."${column}", ${kind === 'text' ? "''" : '-1'})` : `r."${column}"`;
    const sql = kind === 'text' ? `(${value} collate "C")` : value;
    return { sql, type: columnTypes[kind], isOptional: false };
  });
  if (typeof sort !== 'string') return { values: keyValues, isDescending };
  const isReversed = sort.startsWith('-');
  const field = parseField(isReversed ? sort.slice(1) : sort);
  // The key begins with this column, so another copy of it would only hide an index.
  if (field.steps.length === 1 && field.steps[0] === key[0]) return { values: keyValues, isDescending: isReversed };
  return { values: [sortValue(field, fields, statement), ...keyValues], isDescending: isReversed };
}

function sortValue(field: FieldPath, fields: FilterFields, statement: Statement): OrderValue {
  const order = compileOrder(field, fields, placeIn(statement));
  return { sql: statement.append(order), type: order.type, isOptional: true };
}

/** Nulls are last in both directions. Key columns are compared as one row, so that an index on them is used. */
function afterKey({ values, isDescending }: Order, after: ApiKey, statement: Statement): string {
  const operator = isDescending ? '<' : '>';
  const [first] = values;
  const start = first?.isOptional === true ? 1 : 0;
  const keyValues = values.slice(start);
  const bounds = keyValues.map(({ type }, index) => statement.value(after[start + index] ?? null, type));
  const isKeyAfter = `(${keyValues.map(({ sql }) => sql).join(', ')}) ${operator} (${bounds.join(', ')})`;
  if (start === 0 || first === undefined) return isKeyAfter;
  const { sql, type } = first;
  const sorted = after[0] ?? null;
  if (sorted === null) return `(${sql} is null and ${isKeyAfter})`;
  const bound = statement.value(sorted, type);
  return `(${sql} ${operator} ${bound} or ${sql} is null or (${sql} = ${bound} and ${isKeyAfter}))`;
}

function placeIn(statement: Statement): { readonly alias: string; readonly parametersBefore: number } {
  return { alias: 'r', parametersBefore: statement.values.length };
}

function selectList(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, kind]) => {
      if (kind === 'number') return `trim_scale(r."${name}")::text as "${name}"`;
      return kind === 'numbers' ? `r."${name}"::text[] as "${name}"` : `r."${name}"`;
    })
    .join(', ');
}

/** Columns that a filter may compare. */
function filterColumns(columns: Columns): Readonly<Record<string, ColumnKind>> {
  return Object.fromEntries(
    Object.entries(columns).flatMap(([name, kind]) => (kind === 'json' || kind === 'numbers' ? [] : [[name, kind]])),
  );
}
