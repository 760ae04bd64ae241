/** The statement of a party: what it held of tokens at one offset, every change up to another, and a hash that anybody can make again. */
import { createHash } from 'node:crypto';
import { escapeIdentifier, type ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { inSnapshot } from './snapshot-read.ts';

/** An offset, or a time with its zone. */
export type StatementBound = { readonly offset: number } | { readonly time: string };

/** What a statement is of. Where a bound is null: as far as history is known here. */
export interface StatementOf {
  readonly party: string;
  /** Id of the instrument; null: all. */
  readonly instrument: string | null;
  readonly from: StatementBound | null;
  readonly to: StatementBound | null;
}

export const statementColumns = [
  'offset',
  'record_time',
  'update_id',
  'provider',
  'account_id',
  'instrument_admin',
  'instrument_id',
  'kind',
  'amount_in',
  'amount_out',
  'net',
  'balance',
  'locked',
  'other_owners',
  'reason',
  'basis',
] as const;

/** Values as texts, by {@link statementColumns}: amounts without zeros at their end, times in UTC. */
export type StatementRow = readonly (string | null)[];

interface Bound {
  readonly offset: number;
  /** Of the newest update up to there; null where there is none. */
  readonly recordTime: string | null;
}

export interface Statement {
  readonly participant: string | null;
  readonly party: string;
  readonly instrument: string | null;
  /** Exclusive: balances are those right after it. */
  readonly from: Bound;
  /** Inclusive. */
  readonly to: Bound;
  readonly columns: readonly string[];
  readonly rows: readonly StatementRow[];
  /** Hex, see {@link hashOf}. */
  readonly sha256: string;
}

/**
 * Reads a statement, in one snapshot.
 * @throws IndexerError QUERY_REFUSED where a bound is not known here, or is neither an offset nor a time; STORE_ errors
 */
export function readStatement(database: Database, wanted: StatementOf): Promise<Statement> {
  const explore = escapeIdentifier(readSchemas(database.schema).explore);
  return inSnapshot(database, (client) => read(client, explore, wanted));
}

async function read(
  client: ClientBase,
  explore: string,
  { party, instrument, ...wanted }: StatementOf,
): Promise<Statement> {
  const from = await offsetOf(client, explore, wanted.from);
  const to = await offsetOf(client, explore, wanted.to);
  const bounds = await client.query<{ participant: string | null; begins: number; ends: number }>(
    `select s.participant_id as participant, b.begins, b.ends
       from stream s cross join ${explore}.token_journal_bounds($1, $2) b`,
    [from, to],
  );
  const { participant = null, begins = 0, ends = 0 } = bounds.rows[0] ?? {};
  const { rows } = await client.query<(string | null)[]>({
    text: `select j."offset"::text, ${printed('j.record_time')}, j.update_id, j.provider, j.account_id,
                  j.instrument_admin, j.instrument_id, j.kind, trim_scale(j.amount_in)::text, trim_scale(j.amount_out)::text,
                  trim_scale(j.net)::text, trim_scale(j.balance)::text, trim_scale(j.locked)::text,
                  array_to_string(j.other_owners, ' '), j.reason, j.basis
             from ${explore}.token_journal($1, $2, $3) j
            where $4::text is null or j.instrument_id = $4
            order by j."offset", j.instrument_admin, j.instrument_id, j.provider, j.account_id`,
    values: [party, begins, ends, instrument],
    rowMode: 'array',
  });
  const stamped = {
    participant,
    party,
    instrument,
    from: await boundAt(client, begins),
    to: await boundAt(client, ends),
  };
  return { ...stamped, columns: statementColumns, rows, sha256: hashOf({ ...stamped, rows }) };
}

async function offsetOf(client: ClientBase, explore: string, bound: StatementBound | null): Promise<number | null> {
  if (bound === null) return null;
  if ('offset' in bound) return bound.offset;
  const known = `select ${explore}.known_offset($1::timestamptz) as at`;
  const { rows } = await client.query<{ at: number }>(known, [bound.time]);
  return rows[0]?.at ?? null;
}

/** A time in UTC with all its digits; the session is in UTC. */
function printed(time: string): string {
  return `to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

async function boundAt(client: ClientBase, offset: number): Promise<Bound> {
  const { rows } = await client.query<{ at: string | null }>(
    `select ${printed('u.record_time')} as at
       from updates u where u."offset" <= $1 and u.record_time is not null order by u."offset" desc limit 1`,
    [offset],
  );
  return { offset, recordTime: rows[0]?.at ?? null };
}

/**
 * SHA-256 of lines of JSON, each with a line feed at its end: an array of participant, party, instrument, and of both bounds
 * offset and record time; then an array for each row.
 */
export function hashOf({
  participant,
  party,
  instrument,
  from,
  to,
  rows,
}: Omit<Statement, 'columns' | 'sha256'>): string {
  const hash = createHash('sha256');
  const head = [participant, party, instrument, from.offset, from.recordTime, to.offset, to.recordTime];
  for (const line of [head, ...rows]) hash.update(`${JSON.stringify(line)}\n`);
  return hash.digest('hex');
}
