/**
 * Row-level security of a role that is limited to parties. It follows the privacy rules of the ledger: the role can
 * read contracts of which its parties are stakeholders, and events that name its parties as witnesses or controllers.
 * Generates SQL text only.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { PartyRules } from '../tables/entry.ts';
import { storedTables, tablesWhere } from '../tables/tables.ts';

/** Name of a permissive policy for all other readers, so that row-level security hides no row from them. */
const allReadersPolicy = 'all readers';

/** SQL condition for visible rows, by table. */
function conditions(parties: readonly string[]): Readonly<Record<string, string>> {
  const partyArray = `array[${parties.map((party) => escapeLiteral(party)).join(', ')}]::text[]`;
  const witnessedSql = `witness_parties && ${partyArray}`;
  const rules: PartyRules = {
    mine: partyArray,
    stakes: `signatories && ${partyArray} or observers && ${partyArray}`,
    witnessed: witnessedSql,
    takesPart: `acting_parties && ${partyArray} or ${witnessedSql}`,
    // There are few party sets and many rows, so the sets are searched once for all rows of a statement.
    among: (table, condition) => `parties_pk in (select p.parties_pk from ${table} p where ${condition})`,
  };
  return Object.fromEntries(
    Object.entries(storedTables).flatMap(([table, { limited: limitRule }]) => {
      if (limitRule === 'none') return [[table, 'false']];
      return typeof limitRule === 'function' ? [[table, limitRule(rules)]] : [];
    }),
  );
}

/** Statements by table, each list for one transaction. They run with the storage as search path. */
export function policyStatements(role: string, parties: readonly string[]): readonly (readonly string[])[] {
  const name = escapeIdentifier(role);
  const policyName = escapeIdentifier(allReadersPolicy);
  return Object.entries(conditions(parties)).map(([table, condition]) => [
    `drop policy if exists ${policyName} on ${table}`,
    `create policy ${policyName} on ${table} using (true) with check (true)`,
    `drop policy if exists ${name} on ${table}`,
    `create policy ${name} on ${table} as restrictive for select to ${name} using (${condition})`,
    `alter table ${table} enable row level security`,
  ]);
}

/**
 * Grants on the tables that have a policy or need none. Tables of later versions get the grants in `readGrants` from
 * their migration.
 */
export function limitedGrants(role: string): readonly string[] {
  // If a table has no policy, row security hides all of its rows.
  const tables = [
    ...Object.keys(conditions([])),
    ...tablesWhere(({ limited: limitRule }) => limitRule === 'no policy'),
  ];
  return [`grant select on ${tables.join(', ')} to ${escapeIdentifier(role)}`, ...readGrants(role)];
}

/**
 * Grants on tables and columns that contain no data of a single party. Without these grants, views and functions of a
 * later version would fail for the role.
 */
export function readGrants(role: string): readonly string[] {
  const name = escapeIdentifier(role);
  const byColumn = Object.entries(storedTables).flatMap(([table, { limited: limitRule }]) =>
    typeof limitRule === 'object' ? [`grant select (${limitRule.columns}) on ${table} to ${name}`] : [],
  );
  return [
    `grant select on ${tablesWhere(({ limited: limitRule }) => limitRule === 'all').join(', ')} to ${name}`,
    ...byColumn,
  ];
}
