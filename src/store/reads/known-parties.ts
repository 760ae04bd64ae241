/**
 * Finds requested parties that occur in no stored row. A mistyped name would otherwise silently return no
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
