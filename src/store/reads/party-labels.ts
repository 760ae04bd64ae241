/** Labels of the parties in rows that a reader has read. They are added to rows, and never select them. */
import { escapeIdentifier, type ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

/** Maximum number of parties whose labels are read. */
const maxParties = 10_000;
/** A JSON text in the form of a party id. Neither names of templates nor times contain two colons in a row. */
const quotedParty = /"([A-Za-z0-9:_ -]{1,253}::[A-Za-z0-9]{1,253})"/g;

/**
 * Labels of all parties in the rows, by party id, as far as the role of the connection sees them.
 * @param storage name of the storage schema
 * @param rows JSON
 */
export async function labelsIn(
  client: ClientBase,
  storage: string,
  rows: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const parties = new Set<string>();
  for (const row of rows) {
    for (const [, party = ''] of row.matchAll(quotedParty)) if (parties.size < maxParties) parties.add(party);
  }
  if (parties.size === 0) return new Map();
  const { rows: labels } = await client.query<{ party: string; label: string }>(
    `select party, label from ${escapeIdentifier(readSchemas(storage).explore)}.party_labels where party = any ($1)`,
    [[...parties]],
  );
  return new Map(labels.map(({ party, label }) => [party, label]));
}
