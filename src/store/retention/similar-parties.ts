/** For refusals of a party that is not here: it may be mistyped. */
import { type ClientBase, escapeIdentifier } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

/** Parties with names like this one, in brackets; empty where there are none. */
export async function similarParties(client: ClientBase, schema: string, party: string): Promise<string> {
  const explore = escapeIdentifier(readSchemas(schema).explore);
  const { rows } = await client.query<{ nearest: string | null }>(`select ${explore}.similar_parties($1) as nearest`, [
    party,
  ]);
  const nearest = rows[0]?.nearest ?? null;
  return nearest === null ? '' : ` (nearest parties: ${nearest})`;
}
