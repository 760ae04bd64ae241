/**
 * Finds requested parties and templates that occur in no stored row. A mistyped name would otherwise silently return no
 * rows.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';

/** Refuses a party that no stored row names, with the message of `known_party`. */
export async function refuseUnknownParty(client: ClientBase, explore: string, party: string): Promise<void> {
  await client.query(`select ${explore}.known_party($1)`, [party]);
}

/** A party that no stored row names, with similar names; null if there are none. */
export interface UnseenParty {
  readonly party: string;
  readonly nearest: string | null;
}

/** The subset of these parties that no stored row names. */
export async function unseenParties(database: Database, parties: readonly string[]): Promise<readonly UnseenParty[]> {
  if (parties.length === 0) return [];
  const explore = escapeIdentifier(readSchemas(database.schema).explore);
  const { rows } = await database.withClient((client) =>
    client.query<UnseenParty>(
      `select p.party, ${explore}.similar_parties(p.party) as nearest
         from unnest($1::text[]) with ordinality p (party, place)
        where not ${explore}.is_known_party(p.party) order by p.place`,
      [parties],
    ),
  );
  return rows;
}

/** Whether any template has this complete name, and similar names. */
export async function unseenTemplate(
  database: Database,
  template: string,
): Promise<{ readonly isInterface: boolean; readonly nearest: string | null } | undefined> {
  const explore = escapeIdentifier(readSchemas(database.schema).explore);
  const { rows } = await database.withClient((client) =>
    client.query<{ isInterface: boolean; nearest: string | null }>(
      `select k.kinds is not null as "isInterface", ${explore}.similar_names($1) as nearest
         from (select array_agg(t.kind) as kinds from ${explore}.templates t where t.template_fqn = $1) k
        where k.kinds is null or not 'template' = any (k.kinds)`,
      [template],
    ),
  );
  return rows[0];
}
