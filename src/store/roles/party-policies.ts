/**
 * Row-level security of a role that is limited to parties: always the same parties, or those of the current
 * transaction. It follows the privacy rules of the ledger: the role can read contracts of which its parties are
 * stakeholders, and events that name its parties as witnesses or controllers. Generates SQL text only.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { PartyRules } from '../tables/entry.ts';
import { storedTables, tablesWhere } from '../tables/tables.ts';

/** Name of a permissive policy for all other readers, so that row-level security hides no row from them. */
export const allReadersPolicy = 'all readers';

/** The parties of a role, or `session` for those that the function session_parties returns. */
export type RoleParties = readonly string[] | 'session';

/** Functions of the storage that return the rights of the current transaction. */
const sessionFunctions = 'session_parties(), session_reads_all()';

/** SQL condition for visible rows, by table. */
function conditions(parties: RoleParties): Readonly<Record<string, string>> {
  if (parties !== 'session') {
    return partyConditions(`array[${parties.map((party) => escapeLiteral(party)).join(', ')}]::text[]`);
  }
  // As subqueries, the functions run once for each statement and not for each row.
  const ofSession = partyConditions('((select session_parties())::text[])');
  return Object.fromEntries(
    Object.entries(ofSession).map(([table, condition]) => [table, `(select session_reads_all()) or (${condition})`]),
  );
}

/** @param partyArray SQL: array of the reader's parties */
function partyConditions(partyArray: string): Readonly<Record<string, string>> {
  const witnessedSql = `witness_parties && ${partyArray}`;
  const stakesSql = `signatories && ${partyArray} or observers && ${partyArray}`;
  const takesPartSql = `acting_parties && ${partyArray} or ${witnessedSql}`;
  const rules: PartyRules = {
    mine: partyArray,
    stakes: stakesSql,
    witnessed: witnessedSql,
    takesPart: takesPartSql,
    // An array instead of a subquery with "in", because Postgres computes it once for each statement, and can search
    // the primary key of the labels for its elements.
    occurring: `(select array_agg(distinct n.party) from (
      select unnest(${partyArray}) as party
      union all select unnest(signatories || observers || witness_parties) from contract_parties where ${stakesSql}
      union all select unnest(acting_parties || witness_parties) from event_parties where ${takesPartSql}) n)::text[]`,
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

/** Tables that a limited role may read with a policy of its own. */
export function limitedTables(): readonly string[] {
  return Object.keys(conditions([]));
}

/** Statements by table, each list for one transaction. They run with the storage as search path. */
export function policyStatements(role: string, parties: RoleParties): readonly (readonly string[])[] {
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
export function limitedGrants(role: string, parties: RoleParties): readonly string[] {
  // If a table has no policy, row security hides all of its rows.
  const tables = [...limitedTables(), ...tablesWhere(({ limited: limitRule }) => limitRule === 'no policy')];
  const name = escapeIdentifier(role);
  return [
    `grant select on ${tables.join(', ')} to ${name}`,
    ...readGrants(role),
    ...(parties === 'session' ? [`grant execute on function ${sessionFunctions} to ${name}`] : []),
  ];
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
