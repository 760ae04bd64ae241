/** Queries Postgres as the read-only role, and checks results by the rules of Grafana's data source. */
import type { Client, FieldDef, QueryArrayResult } from 'pg';
import { expandSql, milliseconds, type Choices, type View } from './interpolation.ts';
import type { Answer, Field, FieldType, Frame } from './frame.ts';
import type { Panel, Target } from './dashboard.ts';

/** Type numbers of pg_type: timestamptz, timestamp, date. */
const timeTypes = new Set([1184, 1114, 1082]);
/** Type numbers of int8, int2, int4, float4, float8, numeric. */
const numberTypes = new Set([20, 21, 23, 700, 701, 1700]);

/** Runs one SQL query of a panel. The result has a problem if the panel could not draw it. */
export async function queryPostgres(
  client: Client,
  panel: Panel,
  target: Target,
  view: View,
  choices: Choices,
): Promise<Answer> {
  const refId = target.refId ?? '';
  try {
    const text = panelSql(panel, target, view, choices);
    const result = await client.query<(string | Date | number | null)[]>({ text, rowMode: 'array' });
    const fields = toFields(result);
    const problem = frameProblem(panel, target, fields, result.rows.length);
    const frames = target.format === 'time_series' && problem === undefined ? toSeries(fields) : [{ fields }];
    return { refId, frames, rows: result.rows.length, problem };
  } catch (error) {
    return { refId, frames: [], rows: 0, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The SQL that Grafana sends for a query of a panel. @throws Error that names an unknown variable or macro */
export function panelSql(panel: Panel, target: Target, view: View, choices: Choices): string {
  const intervalMs = Math.max(view.intervalMs, panel.interval === undefined ? 0 : milliseconds(panel.interval));
  return expandSql(target.rawSql ?? '', { ...view, intervalMs }, choices);
}

/** The first column of a variable's query. */
export async function variableValues(client: Client, sql: string, view: View, choices: Choices): Promise<string[]> {
  const text = expandSql(sql, view, choices);
  const { rows } = await client.query<[string]>({ text, rowMode: 'array' });
  return rows.map(([value]) => value);
}

function toFields({ fields, rows }: QueryArrayResult<(string | Date | number | null)[]>): readonly Field[] {
  return fields.map((field, index) => {
    const type = typeOf(field);
    return { name: field.name, type, values: rows.map((row) => toValue(row[index] ?? null, type)) };
  });
}

function typeOf({ name, dataTypeID }: FieldDef): FieldType {
  if (timeTypes.has(dataTypeID)) return 'time';
  if (!numberTypes.has(dataTypeID)) return 'string';
  // A number with the name time is in seconds since 1970.
  return name === 'time' ? 'time' : 'number';
}

function toValue(value: string | Date | number | null, type: FieldType): number | string | null {
  if (value === null) return null;
  if (value instanceof Date) return value.getTime();
  if (type === 'time') return Number(value) * 1000;
  return type === 'number' ? Number(value) : String(value);
}

function frameProblem(panel: Panel, target: Target, fields: readonly Field[], rows: number): string | undefined {
  if (rows === 0) return 'no row';
  const numbers = fields.filter(({ type }) => type === 'number');
  if (panel.type === 'table') return undefined;
  if (numbers.length === 0) return 'no column of numbers';
  if (numbers.every(({ values }) => values.every((value) => value === null || value === 0))) return 'only zeros';
  if (target.format === 'time_series') return judgeTimes(fields);
  if (panel.type !== 'barchart') return undefined;
  const axis = fields.find(({ name }) => name === panel.options?.['xField']);
  return axis?.type === 'string' || axis?.type === 'time'
    ? undefined
    : 'the column of xField is missing, or is a number';
}

function judgeTimes(fields: readonly Field[]): string | undefined {
  const time = fields.find(({ name }) => name === 'time');
  if (time?.type !== 'time') return 'no column "time" that is a time';
  const values = time.values as readonly (number | null)[];
  if (values.some((timeMicros) => timeMicros === null)) return 'a time is null';
  return values.every((timeMicros, row) => row === 0 || (timeMicros ?? 0) >= (values[row - 1] ?? 0))
    ? undefined
    : 'not sorted by time';
}

/** Text columns are labels. Each combination of them is a separate series for each numeric column. */
function toSeries(fields: readonly Field[]): readonly Frame[] {
  const time = fields.find(({ name }) => name === 'time');
  const labels = fields.filter(({ type }) => type === 'string');
  const numbers = fields.filter(({ type }) => type === 'number');
  if (time === undefined) return [];
  const names = time.values.map((_, row) => labels.map(({ values }) => String(values[row] ?? '')).join(' '));
  return [...new Set(names)].flatMap((labelName) =>
    numbers.map((number) => {
      const pickedField = (field: Field): Field => ({
        ...field,
        values: field.values.filter((_, row) => names[row] === labelName),
      });
      const name = numbers.length === 1 && labelName !== '' ? labelName : [number.name, labelName].join(' ').trim();
      return { fields: [pickedField(time), { ...pickedField(number), name }] };
    }),
  );
}
