/**
 * Row-level security of a role that is limited to parties. It follows the privacy rules of the ledger: the role can
 * read contracts of which its parties are stakeholders, and events that name its parties as witnesses or controllers.
 * Generates SQL text only.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { PartyRules } from '../tables/entry.ts';
import { storedTables, tablesWhere } from '../tables/tables.ts';

/** Name of a permissive policy for all other readers, so that row-level security hides no row from them. */
const everybody = 'all readers';

/** SQL condition for visible rows, by table. */
function conditions(parties: readonly string[]): Readonly<Record<string, string>> {
  const mine = `array[${parties.map((party) => escapeLiteral(party)).join(', ')}]::text[]`;
  const witnessed = `witness_parties && ${mine}`;
  const rules: PartyRules = {
    mine,
    stakes: `signatories && ${mine} or observers && ${mine}`,
    witnessed,
    takesPart: `acting_parties && ${mine} or ${witnessed}`,
    // There are few party sets and many rows, so the sets are searched once for all rows of a statement.
    among: (table, condition) => `parties_pk in (select p.parties_pk from ${table} p where ${condition})`,
  };
  return Object.fromEntries(
    Object.entries(storedTables).flatMap(([table, { limited }]) => {
      if (limited === 'none') return [[table, 'false']];
      return typeof limited === 'function' ? [[table, limited(rules)]] : [];
    }),
  );
}

/** Statements by table, each list for one transaction. They run with the storage as search path. */
export function policyStatements(role: string, parties: readonly string[]): readonly (readonly string[])[] {
  const name = escapeIdentifier(role);
  const all = escapeIdentifier(everybody);
  return Object.entries(conditions(parties)).map(([table, condition]) => [
    `drop policy if exists ${all} on ${table}`,
    `create policy ${all} on ${table} using (true) with check (true)`,
    `drop policy if exists ${name} on ${table}`,
    `create policy ${name} on ${table} as restrictive for select to ${name} using (${condition})`,
    `alter table ${table} enable row level security`,
  ]);
}

/**
 * Grants on the tables that have a policy or need none. Tables of later versions get the grants in `openGrants` from
 * their migration.
 */
export function limitedGrants(role: string): readonly string[] {
  // If a table has no policy, row security hides all of its rows.
  const tables = [...Object.keys(conditions([])), ...tablesWhere(({ limited }) => limited === 'no policy')];
  return [`grant select on ${tables.join(', ')} to ${escapeIdentifier(role)}`, ...openGrants(role)];
}

/**
 * Grants on tables and columns that contain no data of a single party. Without these grants, views and functions of a
 * later version would fail for the role.
 */
export function openGrants(role: string): readonly string[] {
  const name = escapeIdentifier(role);
  const byColumn = Object.entries(storedTables).flatMap(([table, { limited }]) =>
    typeof limited === 'object' ? [`grant select (${limited.columns}) on ${table} to ${name}`] : [],
  );
  return [`grant select on ${tablesWhere(({ limited }) => limited === 'all').join(', ')} to ${name}`, ...byColumn];
}
