/**
 * The account statement of a party: its token holdings at one offset, every change up to another offset, and a hash
 * that anyone can recompute.
 */
import { createHash, type Hash } from 'node:crypto';
import { escapeIdentifier, type ClientBase } from 'pg';
import { statementColumns, type AccountStatementRow } from './statement-row.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { refuseUnknownParty } from './known-parties.ts';
import { inSnapshot } from './snapshot-read.ts';
import { StatementTotals, type AccountTotal } from './statement-totals.ts';

/** An offset, or a time with a time zone. */
export type AccountStatementBound = { readonly offset: number } | { readonly time: string };

/** Scope of an account statement. A bound that is null means the start or end of the known history. */
export interface StatementRequest {
  readonly party: string;
  /** Id of the instrument; null for all instruments. */
  readonly instrument: string | null;
  /** Party that administers the instrument (several admins can use the same instrument name); null for all admins. */
  readonly admin: string | null;
  readonly from: AccountStatementBound | null;
  readonly to: AccountStatementBound | null;
}

/** Version of the rows and the hash. Statements of version 1 have no field `version`. */
export const statementVersion = 2;

export interface StatementBound {
  readonly offset: number;
  /**
   * Record time of the newest update up to the offset, if it is within the known range; null if no such update is
   * stored.
   */
  readonly recordTime: string | null;
}

/** Scope and bounds of an account statement; the hash begins with them. */
export interface AccountStatementHead {
  readonly participant: string | null;
  readonly party: string;
  readonly instrument: string | null;
  readonly admin: string | null;
  /** Exclusive start: opening balances include updates up to this offset. */
  readonly from: StatementBound;
  /** Inclusive end. */
  readonly to: StatementBound;
}

export interface AccountStatement extends AccountStatementHead {
  readonly version: typeof statementVersion;
  /** Facts that the rows do not contain, as sentences; empty if there are none. */
  readonly notes: readonly string[];
  readonly columns: readonly string[];
  /** Pages of rows. Iterate once, while `use` runs. */
  readonly pages: AsyncIterable<readonly AccountStatementRow[]>;
  /** Labels of those of these parties that have one. They may change, so the hash does not cover them. */
  readonly labels: (parties: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Totals by account, instrument and kind. Call it after all pages were read. */
  readonly totals: () => readonly AccountTotal[];
  /** Hash in hex, see {@link AccountStatementHash}. Call it after all pages were read. */
  readonly sha256: () => string;
}

const pageRows = 1_000;

/**
 * Reads an account statement in one snapshot, and passes it to `use` page by page.
 * @throws IndexerError QUERY_REFUSED if a bound or the party is unknown here, or if a bound is neither an offset nor a
 * time; STORE_ errors; any error of `use`
 */
export function readAccountStatement<T>(
  database: Database,
  request: StatementRequest,
  use: (statement: AccountStatement) => Promise<T>,
): Promise<T> {
  return inSnapshot(database, async (client) => use(await statementIn(client, database.schema, request)));
}

/** Begins an account statement in the current transaction. @param storage name of the storage schema */
export async function statementIn(
  client: ClientBase,
  storage: string,
  request: StatementRequest,
): Promise<AccountStatement> {
  const explore = escapeIdentifier(readSchemas(storage).explore);
  const { party, instrument, admin } = request;
  await refuseUnknownParty(client, explore, party);
  const [from, to] = [await offsetOf(client, explore, request.from), await offsetOf(client, explore, request.to)];
  const { rows } = await client.query<{ participant: string | null; begins: number; ends: number; notes: string[] }>(
    `select s.participant_id as participant, b.begins, b.ends,
            array(select n from ${explore}.token_journal_notes($3, b.begins, b.ends) n) as notes
       from stream s cross join ${explore}.token_journal_bounds($1, $2) b`,
    [from, to, party],
  );
  const { participant = null, begins: beginOffset = 0, ends: endOffset = 0, notes = [] } = rows[0] ?? {};
  const [fromBound, toBound] = [
    await statementBoundAt(client, explore, beginOffset),
    await statementBoundAt(client, explore, endOffset),
  ];
  const head = { participant, party, instrument, admin, from: fromBound, to: toBound };
  await declareCursor(client, explore, { ...request, begin: beginOffset, end: endOffset });
  const hash = new AccountStatementHash(head, statementVersion);
  const totals = new StatementTotals();
  const first = await nextPage(client);
  const instrumentNotes = first.length === 0 ? await notesOfInstrument(client, explore, request) : [];
  return {
    version: statementVersion,
    ...head,
    notes: [...notes, ...(await notesOfEnd(client, request.to, toBound)), ...instrumentNotes],
    columns: statementColumns,
    pages: pagesOf(client, first, (row) => {
      hash.add(row);
      totals.add((column) => row[columnIndexes.get(column) ?? -1] ?? null);
    }),
    labels: (parties) => labelsOf(client, explore, parties),
    totals: () => totals.list(),
    sha256: () => hash.digest(),
  };
}

interface CursorBounds {
  readonly begin: number;
  readonly end: number;
}

async function declareCursor(
  client: ClientBase,
  explore: string,
  { party, instrument, admin, begin, end }: StatementRequest & CursorBounds,
): Promise<void> {
  // The cursor is planned for fetching all rows. By default, Postgres plans for fetching only the first rows.
  await client.query('set local cursor_tuple_fraction = 1');
  await client.query(
    `declare statement no scroll cursor for
      select j."offset"::text, ${formatTime('j.record_time')}, j.update_id, j.provider, j.account_id,
             j.instrument_admin, j.instrument_id, j.kind, trim_scale(j.amount_in)::text, trim_scale(j.amount_out)::text,
             trim_scale(j.net)::text, trim_scale(j.balance)::text, trim_scale(j.locked)::text,
             array_to_string(j.other_owners, ', '), j.reason, j.basis, j.unreadable_holdings::text,
             trim_scale(j.amulet_price)::text, j.price_source, trim_scale(j.usd)::text
        from ${explore}.account_statement($1, $2, $3) j
       where ($4::text is null or j.instrument_id = $4) and ($5::text is null or j.instrument_admin = $5)
       order by j."offset", j.kind = 'closing', j.instrument_admin collate "C", j.instrument_id collate "C", j.provider collate "C",
                j.account_id collate "C"`,
    [party, begin, end, instrument, admin],
  );
}

async function labelsOf(
  client: ClientBase,
  explore: string,
  parties: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (parties.length === 0) return new Map();
  const { rows } = await client.query<{ party: string; label: string }>(
    `select party, label from ${explore}.party_labels where party = any ($1)`,
    [parties],
  );
  return new Map(rows.map(({ party, label }) => [party, label]));
}

async function nextPage(client: ClientBase): Promise<readonly AccountStatementRow[]> {
  const fetch = { text: `fetch ${String(pageRows)} from statement`, rowMode: 'array' } as const;
  return (await client.query<(string | null)[]>(fetch)).rows;
}

const columnIndexes: ReadonlyMap<string, number> = new Map(statementColumns.map((name, index) => [name, index]));

async function* pagesOf(
  client: ClientBase,
  first: readonly AccountStatementRow[],
  add: (row: AccountStatementRow) => void,
): AsyncGenerator<readonly AccountStatementRow[]> {
  for (let rows = first; rows.length > 0; rows = await nextPage(client)) {
    for (const row of rows) add(row);
    yield rows;
    if (rows.length < pageRows) return;
  }
}

const maxInstruments = 5;

/**
 * A note for a statement without rows, if the party never held the instrument or anything of the admin: the name may be
 * mistyped. A party that held it at another time gets no note.
 */
async function notesOfInstrument(
  client: ClientBase,
  explore: string,
  { party, instrument, admin }: StatementRequest,
): Promise<readonly string[]> {
  if (instrument === null && admin === null) return [];
  const { rows } = await client.query<{ id: string; admin: string }>(
    `select distinct e.instrument_id as id, e.instrument_admin as admin from ${explore}.token_holding_events_of($1) e
      where e.owner = $1 and e.instrument_id is not null order by 1, 2`,
    [party],
  );
  if (rows.some((row) => row.id === (instrument ?? row.id) && row.admin === (admin ?? row.admin))) return [];
  const instrumentLabel = `${instrument === null ? '' : ` "${instrument}"`}${admin === null ? '' : ` of ${admin}`}`;
  const instrumentNames = rows.slice(0, maxInstruments).map((row) => `"${row.id}" of ${row.admin}`);
  const omittedText = rows.length > maxInstruments ? ` and ${String(rows.length - maxInstruments)} more` : '';
  const instrumentsText = rows.length === 0 ? 'no token' : `${instrumentNames.join(', ')}${omittedText}`;
  return [`${party} has no holding of an instrument${instrumentLabel} in its history here; it has ${instrumentsText}`];
}

/**
 * A note if the end is a time later than the newest update. The statement then ends at the checkpoint, and later
 * updates before that time are missing.
 */
async function notesOfEnd(
  client: ClientBase,
  requestedEnd: AccountStatementBound | null,
  to: StatementBound,
): Promise<readonly string[]> {
  if (requestedEnd === null || 'offset' in requestedEnd) return [];
  const { rows } = await client.query(
    'select from stream where checkpoint = $1 and checkpoint_record_time < $2::timestamptz',
    [to.offset, requestedEnd.time],
  );
  return rows.length === 0 ? [] : [`${requestedEnd.time} is later than all that is here: it ends at the checkpoint`];
}

async function offsetOf(
  client: ClientBase,
  explore: string,
  requestedBound: AccountStatementBound | null,
): Promise<number | null> {
  if (requestedBound === null) return null;
  if ('offset' in requestedBound) return requestedBound.offset;
  const offsetQuery = `select ${explore}.known_offset($1::timestamptz) as at`;
  const { rows } = await client.query<{ at: number }>(offsetQuery, [requestedBound.time]);
  return rows[0]?.at ?? null;
}

/** SQL: a time in UTC with all its digits. */
function formatTime(time: string): string {
  return `to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * Reads the record time only from updates within the known range. After pruning or a seed, older updates may remain.
 * Their times do not determine the offset.
 */
async function statementBoundAt(client: ClientBase, explore: string, offset: number): Promise<StatementBound> {
  const { rows } = await client.query<{ at: string | null }>(
    `select ${formatTime('u.record_time')} as at
       from ${explore}.known_ranges() r
       join updates u on u."offset" > r.from_offset and u."offset" <= $1 and u.record_time is not null
      where $1 between r.from_offset and r.to_offset
      order by u."offset" desc limit 1`,
    [offset],
  );
  return { offset, recordTime: rows[0]?.at ?? null };
}

/**
 * SHA-256 of JSON lines, each followed by a line feed. The first line is an array of `account-statement`, the version,
 * participant, party, instrument, admin, and the offsets of both bounds; then each row is an array. The line of version
 * 1 begins with the participant. The record times of the bounds are not included. If
 * history begins later because of a seed or pruning, these times are unknown although the rows are the same.
 */
export class AccountStatementHash {
  readonly #hash: Hash = createHash('sha256');

  constructor({ participant, party, instrument, admin, from, to }: AccountStatementHead, version: number) {
    const head = [participant, party, instrument, admin, from.offset, to.offset];
    this.#line(version === 1 ? head : ['account-statement', version, ...head]);
  }

  add(row: AccountStatementRow): void {
    this.#line(row);
  }

  /** The hash in hex. Call it once. */
  digest(): string {
    return this.#hash.digest('hex');
  }

  #line(values: readonly (string | number | null)[]): void {
    this.#hash.update(`${JSON.stringify(values)}\n`);
  }
}
