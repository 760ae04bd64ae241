/**
 * Adds the rows of a range of earlier updates. The rows are staged in tables `staged_…` with the numbers of this
 * schema. Missing rows are added, and stored rows get the additional data that the extended filter returns. Every
 * stored row must be among the staged ones.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { addedColumnsOf, tables } from '../../model/tables.ts';
import { partyColumns } from './staged-rows.ts';

interface Rule {
  readonly key: readonly string[];
  /** The table with its party sets. */
  readonly parties?: keyof typeof partyColumns;
  /** SQL condition that is true if a staged row matches a stored row. */
  readonly proof: string;
}

const positionColumns = ['offset', 'node_id'];
const sameContractSql = 's.contract_id = t.contract_id';

const rules = {
  updates: {
    key: ['offset'],
    proof: 's.update_id is not distinct from t.update_id',
  },
  contracts: {
    key: positionColumns,
    parties: 'contract_parties',
    proof: sameContractSql,
  },
  interface_views: { key: [...positionColumns, 'interface_pk'], proof: 'true' },
  exercises: {
    key: positionColumns,
    parties: 'event_parties',
    proof: sameContractSql,
  },
  archives: { key: positionColumns, parties: 'event_parties', proof: sameContractSql },
  reassignments: {
    key: ['offset', 'contract_id', 'kind'],
    parties: 'event_parties',
    proof: 'true',
  },
  topology_events: { key: ['offset', 'event_index'], proof: 's.kind = t.kind' },
} as const satisfies Record<string, Rule>;

type TableWithRule = keyof typeof rules;
const tablesWithRules = Object.keys(rules) as TableWithRule[];

/**
 * Conditions for stored rows that may be missing among the staged rows. A list of active contracts may contain imported
 * contracts that no update of the participant created. An interface may also have been removed from the filter.
 */
const unverifiedConditions: Partial<Record<TableWithRule, string>> = {
  contracts: `t.origin = 's'`,
  interface_views: 'true',
  reassignments: 't.incomplete',
};

/** @throws IndexerError FILTER_EXTEND_MISMATCH if a stored row is not among the staged rows */
export async function verifyEarlierRows(
  client: ClientBase,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const counts = tablesWithRules.map((table) => {
    const { key, proof: proofCondition } = rules[table];
    return `(select count(*) from ${table} t
               left join staged_${table} s on ${keyCondition(key)}
              where t."offset" > $1 and t."offset" <= $2
                and case when s."offset" is null then not (${unverifiedConditions[table] ?? 'false'}) else not (${proofCondition}) end) as ${table}`;
  });
  const { rows } = await client.query<Record<TableWithRule, number>>(`select ${counts.join(', ')}`, [from, to]);
  const missingCounts = Object.entries(rows[0] ?? {}).filter(([, count]) => count > 0);
  if (missingCounts.length === 0) return;
  const problem = missingCounts.map(([table, count]) => `${String(count)} of ${table}`).join(', ');
  throw new IndexerError(
    `between offsets ${String(from)} and ${String(to)} rows are stored that the filter in force does not return: ${problem}`,
    { code: 'FILTER_EXTEND_MISMATCH', facts: { from, to } },
  );
}

/** Runs in the caller's transaction, which has locked the stream row. */
export async function addEarlierRows(client: ClientBase, epoch: number): Promise<void> {
  // The updates are marked as late, so that programs that read by offset can find them.
  await client.query('update staged_updates set batch_offset = - "offset"');
  await client.query(
    `insert into batches (batch_offset, epoch)
     select s.batch_offset, $1 from staged_updates s
      where not exists (select from updates u where u."offset" = s."offset")`,
    [epoch],
  );
  for (const table of tablesWithRules) {
    const rule: Rule = rules[table];
    await fillAddedColumns(client, table, rule);
    const columns = Object.keys(tables[table]).map((column) => escapeIdentifier(column));
    await client.query(
      `insert into ${table} (${columns.join(', ')})
       select ${columns.map((column) => `s.${column}`).join(', ')} from staged_${table} s
        where not exists (select from ${table} t where ${keyCondition(rule.key)})`,
    );
  }
}

async function fillAddedColumns(client: ClientBase, table: TableWithRule, { key, parties }: Rule): Promise<void> {
  const addedColumns = addedColumnsOf(table);
  if (addedColumns.length > 0) {
    const list = (alias: string): string =>
      addedColumns.map((column) => `${alias}${escapeIdentifier(column)}`).join(', ');
    await client.query(
      `update ${table} t set (${list('')}) = row(${list('s.')})
         from staged_${table} s
        where ${keyCondition(key)} and (${list('t.')}) is distinct from (${list('s.')})`,
    );
  }
  if (parties === undefined) return;
  await client.query(
    `update ${table} t set parties_pk = s.parties_pk
       from staged_${table} s
      where ${keyCondition(key)} and ${otherParties(parties)}`,
  );
}

/**
 * SQL: the parties of `t` differ from those of `s`, compared by party, because the same party set may have several
 * numbers.
 */
export function otherParties(table: keyof typeof partyColumns): string {
  const list = (alias: string): string => partyColumns[table].map((column) => `${alias}.${column}`).join(', ');
  return `t.parties_pk <> s.parties_pk
          and exists (select from ${table} before, ${table} now
                       where before.parties_pk = t.parties_pk and now.parties_pk = s.parties_pk
                         and (${list('before')}) is distinct from (${list('now')}))`;
}

function keyCondition(key: readonly string[]): string {
  return key.map((column) => `t.${escapeIdentifier(column)} = s.${escapeIdentifier(column)}`).join(' and ');
}
