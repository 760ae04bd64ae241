/** A query of every view of schema `explore`, and a call of each of its functions. */
import type { Client } from 'pg';
import { functionCalls, viewNames, type FunctionCall } from '../../../test/read/demo/reader-statements.ts';
import { explore } from '../../postgres.ts';
import { rangeStatements, type HistoryEnds, type Statement } from './statement.ts';

/** Columns that readers limit to a range, the best first. */
const offsetColumns = ['offset', 'created_at_offset', 'last_offset'] as const;
const timeColumns = ['record_time', 'hour', 'created_at', 'requested_at'] as const;

/** Every view: once without a condition, and once over the newest day if it has an offset or a time. */
export async function viewStatements(client: Client, ends: HistoryEnds): Promise<readonly Statement[]> {
  const names = (await viewNames(client)).filter((name) => name.startsWith(`${explore}.`));
  const { rows } = await client.query<{ view: string; columns: string[] }>(
    `select format('%I.%I', table_schema, table_name) as view, array_agg(column_name::text) as columns
       from information_schema.columns where table_schema = $1 group by 1`,
    [explore],
  );
  const columns = new Map(rows.map((row) => [row.view, row.columns]));
  return names.flatMap((name) => {
    const day = dayCondition(columns.get(name) ?? [], ends);
    const sql = `select * from ${name}`;
    return rangeStatements({ name, source: 'view' }, sql, day === undefined ? undefined : `${sql} where ${day}`);
  });
}

/** The condition that limits a view with these columns to the newest day; undefined if it has no such column. */
export function dayCondition(columns: readonly string[], ends: HistoryEnds): string | undefined {
  const offset = offsetColumns.find((column) => columns.includes(column));
  if (offset !== undefined) return `"${offset}" > ${ends.dayOffset}`;
  const time = timeColumns.find((column) => columns.includes(column));
  return time === undefined ? undefined : `"${time}" >= '${ends.dayTime.toISOString()}'`;
}

/**
 * Every function: once over all history, and once over the newest day if it has a lower bound. A function of one moment
 * is called at the newest offset, and at the beginning of that day. A function with optional arguments is also called
 * without them.
 */
export async function functionStatements(client: Client, ends: HistoryEnds): Promise<readonly Statement[]> {
  const { dayOffset: offset } = ends;
  const time = ends.dayTime.toISOString();
  // The demo may have been filled days ago.
  const ago = `${String(Math.round((Date.now() - ends.dayTime.getTime()) / 1_000))} seconds`;
  const all = await functionCalls(client);
  const day = await functionCalls(client, { from: { offset, time }, at: { offset, time, ago } });
  const ofExplore = (calls: readonly FunctionCall[]): readonly FunctionCall[] =>
    calls.filter(({ name }) => name.startsWith(`${explore}.`));
  const ofDay = ofExplore(day);
  return ofExplore(all).flatMap((one, at) => [
    ...callStatements(one, ofDay[at]),
    ...(one.short === undefined ? [] : callStatements(one.short, ofDay[at]?.short)),
  ]);
}

const rangeParameters = /^(?:from|at_offset$|time$|ago$)/;

function callStatements({ name, parameters, call }: FunctionCall, day: FunctionCall | undefined): readonly Statement[] {
  const hasRange = parameters.some((parameter) => rangeParameters.test(parameter));
  const title = `${name}(${parameters.join(', ')})`;
  return rangeStatements({ name: title, source: 'function' }, call, hasRange ? day?.call : undefined);
}
