/**
 * Interfaces that the participant does not know at first, and a comparison of their stored views in two schemas. Rows
 * are compared with names instead of numbers.
 */
import type { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { namedRow } from '../support/dictionary-names.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

/** The interface that the participant does not know at first. */
export const lateInterface = '#splice-api-token-holding-v2:Splice.Api.Token.HoldingV2:Holding';

/** Hides interfaces whose names end with `name` from the participant, until the returned function is called. */
export function hidePackage({ model }: Ledger, name: string): () => void {
  const requireKnown = model.requireKnown.bind(model);
  model.requireKnown = (kind, requestedName) => {
    requireKnown(kind, requestedName.endsWith(name) ? `gone-${requestedName}` : requestedName);
  };
  return () => {
    model.requireKnown = requireKnown;
  };
}

/** Tables that are compared. Adding interfaces to a filter changes only the first two. */
const comparedTables = [
  'interface_views',
  'template_interfaces',
  'exercises',
  'archives',
  'contracts',
  'live',
  'ended',
  'reassignments',
  'updates',
  'activity_hourly',
  'active_counts',
];

/** Rows that only one of the schemas contains, with names instead of numbers; at most ten per schema. */
export async function differingRows(url: string, firstSchema: string, otherSchema: string): Promise<readonly string[]> {
  const rows = await Promise.all([firstSchema, otherSchema].map((schema) => storedRows(url, schema)));
  const [ownRows, otherRows] = rows.map((tableRows) => new Set(tableRows));
  const missingInterfaces = (
    interfacesThere: ReadonlySet<string> = new Set(),
    extraHere: ReadonlySet<string> = new Set(),
  ): readonly string[] => [...interfacesThere].filter((row) => !extraHere.has(row)).slice(0, 10);
  return [
    ...missingInterfaces(ownRows, otherRows).map((row) => `only ${firstSchema}: ${row}`),
    ...missingInterfaces(otherRows, ownRows).map((row) => `only ${otherSchema}: ${row}`),
  ];
}

async function storedRows(url: string, schema: string): Promise<readonly string[]> {
  const tables = await query(
    url,
    `select table_name as name, array_agg(column_name::text) as columns from information_schema.columns
      where table_schema = '${schema}' and table_name = any ('{${comparedTables.join()}}') group by 1`,
  );
  const tableQueries = tables.map(({ name, columns }) => {
    // The batch number of an update is not compared.
    const row = `(${namedRow(schema, String(name), columns as readonly string[])}) - 'batch_offset'`;
    return `select '${String(name)} ' || (${row})::text as row from ${schema}.${String(name)} t`;
  });
  return (await query(url, tableQueries.join(' union all '))).map(({ row }) => String(row));
}

export interface StoredInterface {
  readonly state: string;
  readonly completeFrom: number | null;
  readonly unknownAt: number | null;
}

/** The stored state of the interface whose name ends with `name`; undefined if it is not requested. */
export async function interfaceOf(url: string, schema: string, name: string): Promise<StoredInterface | undefined> {
  const number = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));
  const [row] = await query(url, `select * from ${schema}.filter_interfaces where interface_id like '%${name}'`);
  if (row === undefined) return undefined;
  return {
    state: String(row['state']),
    completeFrom: number(row['complete_from']),
    unknownAt: number(row['unknown_at_offset']),
  };
}

/** Waits until the interface is followed; resolves to the offset from which its views are complete. */
export async function waitUntilFollowed(url: string, schema: string, name: string, limitMs = 40_000): Promise<number> {
  return waitFor(
    `${name} is followed`,
    async () => {
      const interfaceState = await interfaceOf(url, schema, name);
      return interfaceState?.state === 'followed' ? (interfaceState.completeFrom ?? -1) : undefined;
    },
    limitMs,
  );
}
