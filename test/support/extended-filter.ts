/**
 * Reads the progress of a filter extension. Compares a schema with a schema that had the extended filter from the
 * beginning.
 */
import { query } from './database.ts';
import { namedRow } from './dictionary-names.ts';

/** The current step of a filter extension, derived from the state of the database. */
export const stages = ['asked', 'set', 'gathering', 'named', 'adding', 'done'] as const;
export type Stage = (typeof stages)[number];

export async function stageOf(url: string, schema = 'ledger'): Promise<Stage> {
  const [row] = await query(
    url,
    `select (select state from ${schema}.jobs where name = 'filter-extend') as state,
            exists (select from ${schema}.coverage where not complete) as set,
            to_regclass('${schema}_filter_extend.stream') is not null as staged,
            to_regclass('${schema}_filter_extend.template_map') is not null as named,
            to_regclass('${schema}_filter_extend.filled') is not null as adding`,
  );
  if (row?.['state'] === 'done') return 'done';
  if (row?.['adding'] === true) return 'adding';
  if (row?.['named'] === true) return 'named';
  if (row?.['staged'] === true) return 'gathering';
  return row?.['set'] === true ? 'set' : 'asked';
}

/**
 * For each table, the condition that selects the compared rows, and the columns to omit. The rows are the active
 * contracts and all events after an offset. The omitted columns differ between seeded and followed contracts.
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
  // These columns depend on whether the contract was seeded, or are only known from its update.
  contracts: [
    `t."offset" > ${after} or l."offset" is not null`,
    ['origin', 'workflow_id', 'acs_delta', 'reassignment_counter'],
  ],
  interface_views: [`t."offset" > ${after} or l."offset" is not null`, []],
});

/** A join instead of a subquery per row, because up to a million rows may be compared. */
const liveOnes = `left join SCHEMA.live l on l."offset" = t."offset" and l.node_id = t.node_id`;

/** Rows that only one of two schemas has, with names instead of numbers. Returns at most `most` rows of each. */
export async function differences(
  url: string,
  one: string,
  other: string,
  after: number,
  most = 10,
): Promise<string[]> {
  const [firstRows, secondRows] = await Promise.all([one, other].map((schema) => rowsOf(url, schema, after)));
  const found: string[] = [];
  for (const [here, there, name] of [
    [firstRows, secondRows, one],
    [secondRows, firstRows, other],
  ] as const) {
    // The server compares, and returns only different rows, because a million rows would not fit into memory.
    const limit = Number.isFinite(most) ? `limit ${String(most)}` : '';
    const lacking = await query(url, `(${String(here)}) except (${String(there)}) ${limit}`);
    found.push(...lacking.map(({ row }) => `only ${name}: ${String(row)}`));
  }
  return found;
}

/**
 * SQL of a row with comparable witnesses. In a list of active contracts, the witnesses are only the stakeholders. In an
 * update, they are all witnesses. Their order is undefined.
 */
function ofList(schema: string, row: string, after: number): string {
  const parties = `(select jsonb_build_array(p.signatories, p.observers,
                             array(select w from unnest(p.witness_parties) w
                                    where w = any (p.signatories) or w = any (p.observers) order by w))
                      from ${schema}.contract_parties p where p.parties_pk = t.parties_pk)`;
  return `(${row} || case when t."offset" > ${after} then '{}' else jsonb_build_object('parties_pk', ${parties}) end)`;
}

/** SQL that selects all compared rows. */
async function rowsOf(url: string, schema: string, after: number): Promise<string> {
  const tables = await query(
    url,
    `select table_name as name, array_agg(column_name::text order by column_name) as columns
       from information_schema.columns where table_schema = '${schema}' group by 1`,
  );
  const rules = compared(after);
  const parts = tables.flatMap(({ name, columns }) => {
    const rule = rules[String(name)];
    if (rule === undefined) return [];
    const [condition, without] = rule;
    const names = columns as readonly string[];
    const listed = names.includes('parties_pk') && names.includes('synchronizer_pk');
    const fullRow = `(${namedRow(schema, String(name), names)})`;
    const row = [listed ? ofList(schema, fullRow, after) : fullRow, ...without.map((column) => `'${column}'`)];
    const from = `${schema}.${String(name)} t ${condition.includes(' l.') ? liveOnes.replace('SCHEMA', schema) : ''}`;
    return [`select '${String(name)} ' || (${row.join(' - ')})::text as row from ${from} where ${condition}`];
  });
  parts.push(
    `select 'active ' || k.package_id || k.entity_name || ' ' || a.activated - a.deactivated
       from ${schema}.active_counts a join ${schema}.templates k using (template_pk) where a.activated > a.deactivated`,
  );
  return parts.join(' union all ');
}
