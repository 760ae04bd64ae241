/** Finds names similar to a party that is not stored, because the name may be mistyped. */
import { type ClientBase, escapeIdentifier } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

/** Parties with similar names as text in brackets; empty if there are none. */
export async function similarParties(client: ClientBase, schema: string, party: string): Promise<string> {
  const explore = escapeIdentifier(readSchemas(schema).explore);
  const { rows } = await client.query<{ nearest: string | null }>(`select ${explore}.similar_parties($1) as nearest`, [
    party,
  ]);
  const suggestions = rows[0]?.nearest ?? null;
  return suggestions === null ? '' : ` (nearest parties: ${suggestions})`;
}
