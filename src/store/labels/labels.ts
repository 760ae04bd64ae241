/** Tables `party_labels` and `instrument_labels`: names for display, loaded from files of the operator. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { shortTransaction } from '../connection/short-transaction.ts';

export interface PartyLabel {
  readonly party: string;
  readonly label: string;
  readonly note: string | null;
  /** Whether the party is the DSO whose AnsEntry contracts give labels. */
  readonly isDso: boolean;
}

export interface InstrumentLabel {
  readonly admin: string;
  readonly instrumentId: string;
  readonly name: string;
  readonly symbol: string | null;
  readonly decimals: number | null;
  readonly note: string | null;
}

/** The labels of one source. */
export interface LabelSet {
  readonly parties: readonly PartyLabel[];
  readonly instruments: readonly InstrumentLabel[];
}

/** Number of labels by the effect of a load. */
interface LoadResult {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Number of labels of parties that `redact party` was called for. */
  readonly ofRedactedParties: number;
}

interface Counts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Replaces all labels of the source, in one transaction. The same labels again change nothing. */
export function loadLabels(database: Database, source: string, labels: LabelSet): Promise<LoadResult> {
  return shortTransaction(database, async (client) => {
    // Two loads at once would insert the same rows.
    await client.query('lock table party_labels, instrument_labels in share row exclusive mode');
    const parties = await replaceParties(client, source, labels.parties);
    const instruments = await replaceInstruments(client, source, labels.instruments);
    const [added, changed] = [parties.added + instruments.added, parties.changed + instruments.changed];
    const unchanged = labels.parties.length + labels.instruments.length - added - changed;
    const { rows } = await client.query<{ redacted: number }>(
      `select count(*)::integer as redacted from party_labels l
        where l.source = $1 and exists (select from redactions r where r.subject = 'party' and r.party = l.party)`,
      [source],
    );
    const removed = parties.removed + instruments.removed;
    return { added, changed, unchanged, removed, ofRedactedParties: rows[0]?.redacted ?? 0 };
  });
}

function replaceParties(client: ClientBase, source: string, labels: readonly PartyLabel[]): Promise<Counts> {
  const rows = labels.map(({ party, label, note, isDso }) => ({ party, label, note, is_dso: isDso }));
  return replace(client, source, rows, {
    table: 'party_labels',
    key: ['party'],
    values: ['label', 'note', 'is_dso'],
    types: 'party text, label text, note text, is_dso boolean',
  });
}

function replaceInstruments(client: ClientBase, source: string, labels: readonly InstrumentLabel[]): Promise<Counts> {
  const rows = labels.map(({ instrumentId, ...label }) => ({ ...label, instrument_id: instrumentId }));
  return replace(client, source, rows, {
    table: 'instrument_labels',
    key: ['admin', 'instrument_id'],
    values: ['name', 'symbol', 'decimals', 'note'],
    types: 'admin text, instrument_id text, name text, symbol text, decimals integer, note text',
  });
}

interface ReplacedTable {
  readonly table: 'party_labels' | 'instrument_labels';
  readonly key: readonly string[];
  readonly values: readonly string[];
  /** The columns with their types, as SQL. */
  readonly types: string;
}

async function replace(
  client: ClientBase,
  source: string,
  labels: readonly object[],
  { table, key, values, types }: ReplacedTable,
): Promise<Counts> {
  const json = JSON.stringify(labels);
  const loaded = `json_to_recordset($2::json) as n (${types})`;
  const isSame = key.map((column) => `n.${column} = l.${column}`).join(' and ');
  const removal = await client.query(
    `delete from ${table} l where l.source = $1 and not exists (select from ${loaded} where ${isSame})`,
    [source, json],
  );
  const columns = [...key, ...values].join(', ');
  const differs = `(${values.map((column) => `l.${column}`).join(', ')}) is distinct from (${values.map((column) => `excluded.${column}`).join(', ')})`;
  // xmax is 0 in a row that was inserted.
  const { rows } = await client.query<{ isNew: boolean }>(
    `insert into ${table} as l (${columns}, source) select ${columns}, $1 from ${loaded}
     on conflict (${key.join(', ')}, source) do update
       set ${values.map((column) => `${column} = excluded.${column}`).join(', ')}, loaded_at = now() where ${differs}
     returning l.xmax = 0 as "isNew"`,
    [source, json],
  );
  const added = rows.filter(({ isNew }) => isNew).length;
  return { added, changed: rows.length - added, removed: removal.rowCount ?? 0 };
}

/** One label of a file, as `labels list` prints it. Fields of the other kind are null. */
export interface ListedLabel {
  readonly source: string;
  readonly party: string | null;
  readonly label: string | null;
  readonly dso: boolean | null;
  readonly admin: string | null;
  readonly instrument_id: string | null;
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  readonly note: string | null;
  readonly loaded_at: Date;
}

/** All labels of files, or those of one source, ordered by source and id. */
export function listLabels(database: Database, source: string | null): Promise<readonly ListedLabel[]> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<ListedLabel>(
      `select source, party, label, is_dso as dso, null as admin, null as instrument_id, null as name, null as symbol,
              null::integer as decimals, note, loaded_at
         from party_labels where $1::text is null or source = $1
       union all
       select source, null, null, null, admin, instrument_id, name, symbol, decimals, note, loaded_at
         from instrument_labels where $1::text is null or source = $1
        order by source, party nulls last, admin, instrument_id`,
      [source],
    );
    return rows;
  });
}

/** Removes all labels of a source. Resolves to their number. @throws IndexerError LABELS_REFUSED if there are none */
export function removeSource(database: Database, source: string): Promise<number> {
  return shortTransaction(database, async (client) => {
    let removed = 0;
    for (const table of ['party_labels', 'instrument_labels'] as const) {
      const result = await tablesOf(client).deleteFrom(table).where('source', '=', source).executeTakeFirst();
      removed += Number(result.numDeletedRows);
    }
    if (removed > 0) return removed;
    throw new IndexerError('no label has this source', {
      code: 'LABELS_REFUSED',
      remedy: 'run ledger-indexer labels list to see the sources',
    });
  });
}
