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
const comparedConditions = (
  afterOffset: number,
): Readonly<Record<string, readonly [condition: string, without: readonly string[]]>> => ({
  updates: [`t."offset" > ${afterOffset}`, ['batch_offset']],
  exercises: [`t."offset" > ${afterOffset}`, []],
  archives: [`t."offset" > ${afterOffset}`, []],
  topology_events: [`t."offset" > ${afterOffset}`, []],
  reassignments: [`t."offset" > ${afterOffset}`, []],
  live: ['true', []],
  ended: [`t.ended_offset > ${afterOffset}`, []],
  // These columns depend on whether the contract was seeded, or are only known from its update.
  contracts: [
    `t."offset" > ${afterOffset} or l."offset" is not null`,
    ['origin', 'workflow_id', 'acs_delta', 'reassignment_counter'],
  ],
  interface_views: [`t."offset" > ${afterOffset} or l."offset" is not null`, []],
});

/** A join instead of a subquery per row, because up to a million rows may be compared. */
const liveJoinSql = `left join SCHEMA.live l on l."offset" = t."offset" and l.node_id = t.node_id`;

/** Rows that only one of two schemas has, with names instead of numbers. Returns at most `maxRows` rows of each. */
export async function differences(
  url: string,
  leftSchema: string,
  rightSchema: string,
  afterOffset: number,
  maxRows = 10,
): Promise<string[]> {
  const [firstRows, secondRows] = await Promise.all(
    [leftSchema, rightSchema].map((schema) => rowsOf(url, schema, afterOffset)),
  );
  const differencesFound: string[] = [];
  for (const [leftRows, rightRows, name] of [
    [firstRows, secondRows, leftSchema],
    [secondRows, firstRows, rightSchema],
  ] as const) {
    // The server compares, and returns only different rows, because a million rows would not fit into memory.
    const limit = Number.isFinite(maxRows) ? `limit ${String(maxRows)}` : '';
    const missingRows = await query(url, `(${String(leftRows)}) except (${String(rightRows)}) ${limit}`);
    differencesFound.push(...missingRows.map(({ row }) => `only ${name}: ${String(row)}`));
  }
  return differencesFound;
}

/**
 * SQL of a row with comparable witnesses. In a list of active contracts, the witnesses are only the stakeholders. In an
 * update, they are all witnesses. Their order is undefined.
 */
function listCondition(schema: string, row: string, afterOffset: number): string {
  const parties = `(select jsonb_build_array(p.signatories, p.observers,
                             array(select w from unnest(p.witness_parties) w
                                    where w = any (p.signatories) or w = any (p.observers) order by w))
                      from ${schema}.contract_parties p where p.parties_pk = t.parties_pk)`;
  return `(${row} || case when t."offset" > ${afterOffset} then '{}' else jsonb_build_object('parties_pk', ${parties}) end)`;
}

/** SQL that selects all compared rows. */
async function rowsOf(url: string, schema: string, afterOffset: number): Promise<string> {
  const tables = await query(
    url,
    `select table_name as name, array_agg(column_name::text order by column_name) as columns
       from information_schema.columns where table_schema = '${schema}' group by 1`,
  );
  const rules = comparedConditions(afterOffset);
  const tableConditions = tables.flatMap(({ name, columns }) => {
    const rule = rules[String(name)];
    if (rule === undefined) return [];
    const [condition, exclusion] = rule;
    const names = columns as readonly string[];
    const hasListColumns = names.includes('parties_pk') && names.includes('synchronizer_pk');
    const fullRow = `(${namedRow(schema, String(name), names)})`;
    const row = [
      hasListColumns ? listCondition(schema, fullRow, afterOffset) : fullRow,
      ...exclusion.map((column) => `'${column}'`),
    ];
    const from = `${schema}.${String(name)} t ${condition.includes(' l.') ? liveJoinSql.replace('SCHEMA', schema) : ''}`;
    return [`select '${String(name)} ' || (${row.join(' - ')})::text as row from ${from} where ${condition}`];
  });
  tableConditions.push(
    `select 'active ' || k.package_id || k.entity_name || ' ' || a.activated - a.deactivated
       from ${schema}.active_counts a join ${schema}.templates k using (template_pk) where a.activated > a.deactivated`,
  );
  return tableConditions.join(' union all ');
}
