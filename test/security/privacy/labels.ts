/**
 * Labels of all parties of a random history, and who may see them: a party itself, and everyone who sees a party set that
 * contains it.
 */
import type { ModelRow } from '../privacy-history.ts';
import { query } from '../../support/database.ts';

const partyName = /[\w-]+::\w+/g;

/**
 * Rows of party_labels and instrument_labels, one in each table for each party.
 * @param rows the rows of the history
 * @param others further parties, which occur in no row
 */
export function labelRows(rows: readonly ModelRow[], others: readonly string[] = []): readonly ModelRow[] {
  const seersOf = new Map(others.map((party) => [party, new Set([party])]));
  for (const { table, key, seers } of rows) {
    if (table !== 'contract_parties' && table !== 'event_parties') continue;
    for (const [party] of key.matchAll(partyName)) {
      seersOf.set(party, new Set([party, ...(seersOf.get(party) ?? []), ...seers]));
    }
  }
  return [...seersOf].flatMap(([key, seers]) =>
    ['party_labels', 'instrument_labels'].map((table) => ({ table, key, seers })),
  );
}

/** Stores a label for each row. */
export async function storeLabels(url: string, rows: readonly ModelRow[]): Promise<void> {
  const partiesOf = (wanted: string): string =>
    rows.flatMap(({ table, key }) => (table === wanted ? [`('${key}')`] : [])).join(', ');
  await query(
    url,
    `insert into ledger.party_labels (party, source, label)
       select party, 'file', 'label of ' || party from (values ${partiesOf('party_labels')}) l (party);
     insert into ledger.instrument_labels (admin, instrument_id, source, name)
       select admin, 'Coin', 'file', 'label of ' || admin from (values ${partiesOf('instrument_labels')}) l (admin)`,
  );
}
