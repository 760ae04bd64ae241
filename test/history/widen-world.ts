/** A filter that is widened while an indexer runs, and what its schema must then have in common with one that began with it. */
import { query } from '../support/database.ts';
import { namedRow } from '../support/dictionary-names.ts';
import { waitFor } from '../support/wait-for.ts';
import type { HistoryWorld } from './history-run.ts';

export type Filter = Readonly<Record<string, string>>;

/** Asks for the filter and waits until it is complete; resolves to the offset from which on it is. */
export async function widened(world: HistoryWorld, filter: Filter, schema = 'ledger'): Promise<number> {
  await world.command('widen --yes', schema, filter);
  return untilWidened(world, schema);
}

export async function untilWidened(world: HistoryWorld, schema = 'ledger', limitMs = 40_000): Promise<number> {
  return waitFor(
    'the filter is widened',
    async () => {
      const work = await world.row(`select state, problem from ${schema}.works where name = 'widen'`);
      if (work['state'] === 'failed') throw new Error(`failed: ${String(work['problem'])}`);
      if (work['state'] !== 'done') return undefined;
      const range = await world.row(
        `select max(from_offset)::int as at from ${schema}.coverage where origin = 'widen'`,
      );
      return Number(range['at']);
    },
    limitMs,
  );
}

/**
 * Rows of what is active, and of all that happened after an offset: of each table, which rows and which columns of them say the
 * same whether the contract was seeded or followed.
 */
const compared = (
  after: number,
): Readonly<Record<string, readonly [condition: string, without: readonly string[]]>> => ({
  updates: [`t."offset" > ${after}`, ['batch_offset']],
  exercises: [`t."offset" > ${after}`, []],
  archives: [`t."offset" > ${after}`, []],
  topology_events: [`t."offset" > ${after}`, []],
  reassignments: [`t."offset" > ${after}`, []],
  live: ['true', []],
  ended: [`t.ended_offset > ${after}`, []],
  // How it was found, and what only its update says.
  contracts: [`t."offset" > ${after} or ${isLive}`, ['origin', 'workflow_id', 'acs_delta', 'reassignment_counter']],
  interface_views: [`t."offset" > ${after} or ${isLive}`, []],
});

const isLive = `exists (select from SCHEMA.live l where l."offset" = t."offset" and l.node_id = t.node_id)`;

/** What one schema has and another lacks of it, with names instead of numbers; at most ten rows of each. */
export async function differences(url: string, one: string, other: string, after: number): Promise<readonly string[]> {
  const [ours, theirs] = await Promise.all(
    [one, other].map(async (schema) => new Set(await rowsOf(url, schema, after))),
  );
  const lacks = (there: ReadonlySet<string> = new Set(), here: ReadonlySet<string> = new Set()): readonly string[] =>
    [...there].filter((row) => !here.has(row)).slice(0, 10);
  return [
    ...lacks(ours, theirs).map((row) => `only ${one}: ${row}`),
    ...lacks(theirs, ours).map((row) => `only ${other}: ${row}`),
  ];
}

/** A list of active contracts names those witnesses that are stakeholders; an update names all. Their order is nobody's. */
function ofList(schema: string, row: string, after: number): string {
  const parties = `(select jsonb_build_array(p.signatories, p.observers,
                             array(select w from unnest(p.witness_parties) w
                                    where w = any (p.signatories) or w = any (p.observers) order by w))
                      from ${schema}.contract_parties p where p.parties_pk = t.parties_pk)`;
  return `(${row} || case when t."offset" > ${after} then '{}' else jsonb_build_object('parties_pk', ${parties}) end)`;
}

async function rowsOf(url: string, schema: string, after: number): Promise<readonly string[]> {
  const tables = await query(
    url,
    `select table_name as name, array_agg(column_name::text order by column_name) as columns
       from information_schema.columns where table_schema = '${schema}' group by 1`,
  );
  const wanted = compared(after);
  const parts = tables.flatMap(({ name, columns }) => {
    const rule = wanted[String(name)];
    if (rule === undefined) return [];
    const [condition, without] = rule;
    const names = columns as readonly string[];
    const listed = names.includes('parties_pk') && names.includes('synchronizer_pk');
    const whole = `(${namedRow(schema, String(name), names)})`;
    const row = [listed ? ofList(schema, whole, after) : whole, ...without.map((column) => `'${column}'`)];
    const where = condition.replaceAll('SCHEMA', schema);
    return [
      `select '${String(name)} ' || (${row.join(' - ')})::text as row from ${schema}.${String(name)} t where ${where}`,
    ];
  });
  parts.push(
    `select 'active ' || k.package_id || k.entity_name || ' ' || a.activated - a.deactivated
       from ${schema}.active_counts a join ${schema}.templates k using (template_pk) where a.activated > a.deactivated`,
  );
  return (await query(url, parts.join(' union all '))).map(({ row }) => String(row));
}
